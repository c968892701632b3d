{{/* The tool that the test calls; empty disables the test: no tool is configured, a credential is missing, or /mcp serves nothing and test.url is empty. */}}
{{- define "mcpedge.testTool" -}}
{{- $config := fromYaml (include "mcpedge.config" .) -}}
{{- if and (or .Values.test.tokenSecret.name (not (include "mcpedge.authenticated" .))) (or .Values.test.url (ne ($config.root | default "all") "off")) -}}
{{- if .Values.test.tool -}}
{{ .Values.test.tool }}
{{- else if $config.demo -}}
calculator_arithmetic
{{- end -}}
{{- end -}}
{{- end -}}
