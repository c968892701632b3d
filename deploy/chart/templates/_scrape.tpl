{{/* One endpoint of a PodMonitor or ServiceMonitor, in YAML; called with the context and the values of the monitor. */}}
{{- define "mcpedge.scrape" -}}
{{- $config := fromYaml (include "mcpedge.config" (index . 0)) -}}
{{- with index . 1 -}}
port: admin
path: /metrics
scheme: {{ ternary "https" "http" (not (empty (($config.admin.tls).cert))) }}
interval: {{ .interval }}
{{- with .scrapeTimeout }}
scrapeTimeout: {{ . }}
{{- end }}
{{- with .authorization }}
authorization:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tlsConfig }}
tlsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
relabelings:
  - {action: replace, targetLabel: job, replacement: {{ .job }}}
  {{- with .relabelings }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .metricRelabelings }}
metricRelabelings:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
{{- end -}}
