{{/* The tool that the test calls; empty: there is no test, since nobody said which tool, or a credential is missing. */}}
{{- define "mcpedge.testTool" -}}
{{- $config := .Values.config | default dict -}}
{{- if or .Values.test.tokenSecret.name (not (include "mcpedge.authenticated" .)) -}}
{{- if .Values.test.tool -}}
{{ .Values.test.tool }}
{{- else if or $config.demo (not $config.backends) -}}
calculator_arithmetic
{{- end -}}
{{- end -}}
{{- end -}}
