{{/* The tool that the test calls; empty: there is no test, since nobody said which tool, or a credential is missing. */}}
{{- define "mcpedge.testTool" -}}
{{- if or .Values.test.tokenSecret.name (not (include "mcpedge.authenticated" .)) -}}
{{- if .Values.test.tool -}}
{{ .Values.test.tool }}
{{- else if (include "mcpedge.config" . | fromYaml).demo -}}
calculator_arithmetic
{{- end -}}
{{- end -}}
{{- end -}}
