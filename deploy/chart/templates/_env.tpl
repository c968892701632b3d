{{/* The environment of the edge's container, a list in YAML. It wins over the file, so what config says is not in it. */}}
{{- define "mcpedge.env" -}}
{{- $own := .Values.config | default dict -}}
{{- $env := list -}}
{{- if and .Values.redis.existingSecret.name (not ($own.redis).url) -}}
{{- $env = append $env (dict "name" "MCPEDGE_REDIS_URL" "valueFrom" (dict "secretKeyRef" .Values.redis.existingSecret)) -}}
{{- end -}}
{{- if and .Values.redis.sealKeys.existingSecret.name (not (index ($own.redis | default dict) "seal-keys")) -}}
{{- $env = append $env (dict "name" "MCPEDGE_REDIS_SEAL_KEYS" "valueFrom" (dict "secretKeyRef" .Values.redis.sealKeys.existingSecret)) -}}
{{- end -}}
{{- with .Values.telemetry -}}
{{- if .otlpEndpoint -}}
{{- $env = append $env (dict "name" "POD_NAME" "valueFrom" (dict "fieldRef" (dict "fieldPath" "metadata.name"))) -}}
{{- $env = append $env (dict "name" "NODE_NAME" "valueFrom" (dict "fieldRef" (dict "fieldPath" "spec.nodeName"))) -}}
{{- $attributes := printf "k8s.namespace.name=%s,k8s.pod.name=$(POD_NAME),k8s.node.name=$(NODE_NAME),k8s.deployment.name=%s" $.Release.Namespace (include "mcpedge.fullname" $) -}}
{{- $env = append $env (dict "name" "OTEL_RESOURCE_ATTRIBUTES" "value" $attributes) -}}
{{- $env = append $env (dict "name" "OTEL_EXPORTER_OTLP_ENDPOINT" "value" .otlpEndpoint) -}}
{{- $env = append $env (dict "name" "OTEL_EXPORTER_OTLP_PROTOCOL" "value" .otlpProtocol) -}}
{{- if not .otlpMetrics -}}
{{- $env = append $env (dict "name" "OTEL_METRICS_EXPORTER" "value" "none") -}}
{{- end -}}
{{- end -}}
{{- if .sampler -}}
{{- $env = append $env (dict "name" "OTEL_TRACES_SAMPLER" "value" .sampler) -}}
{{- end -}}
{{- if ne (toString .samplerArg) "" -}}
{{- $env = append $env (dict "name" "OTEL_TRACES_SAMPLER_ARG" "value" (toString .samplerArg)) -}}
{{- end -}}
{{- end -}}
{{- with concat $env (.Values.extraEnv | default list) }}{{ toYaml . }}{{ end -}}
{{- end -}}
