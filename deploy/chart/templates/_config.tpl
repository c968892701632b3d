{{/* What exposes the edge beyond the cluster, for a message; empty: nothing. */}}
{{- define "mcpedge.exposed" -}}
{{- if .Values.ingress.enabled -}}
ingress.enabled
{{- else if .Values.httpRoute.enabled -}}
httpRoute.enabled
{{- else if ne .Values.service.type "ClusterIP" -}}
service.type: {{ .Values.service.type }}
{{- end -}}
{{- end -}}

{{/* "true" if every caller needs credentials. */}}
{{- define "mcpedge.authenticated" -}}
{{- with (.Values.config).auth -}}
{{- if not .optional -}}true{{- end -}}
{{- end -}}
{{- end -}}

{{/* URL of the edge as clients see it, by the first host of the ingress or route; empty: it is not known. */}}
{{- define "mcpedge.publicURL" -}}
{{- if .Values.ingress.enabled -}}
{{- $host := (first .Values.ingress.hosts).host -}}
{{- if and $host (not (hasPrefix "*" $host)) -}}
{{ ternary "https" "http" (not (empty .Values.ingress.tls)) }}://{{ $host }}
{{- end -}}
{{- else if .Values.httpRoute.enabled -}}
{{- with .Values.httpRoute.hostnames -}}
{{- if not (hasPrefix "*" (first .)) -}}
https://{{ first . }}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Secret with the certificate of the MCP address; empty: the chart gives it none. */}}
{{- define "mcpedge.tlsSecret" -}}
{{- if .Values.tls.certManager.enabled -}}
{{ include "mcpedge.fullname" . }}-tls
{{- else -}}
{{ .Values.tls.existingSecret }}
{{- end -}}
{{- end -}}

{{- define "mcpedge.redisURL" -}}
{{- if .Values.redis.trial.enabled -}}
redis://{{ include "mcpedge.fullname" . }}-redis:6379
{{- else -}}
{{ .Values.redis.url }}
{{- end -}}
{{- end -}}

{{/* The configuration file: what the chart derives, and over it what the user says. */}}
{{- define "mcpedge.config" -}}
{{- $own := .Values.config | default dict -}}
{{- $config := dict "listen" (dict "address" ":8080" "connection-age" "20s") "admin" (dict "address" ":9090") "shutdown" (dict "delay" "10s" "grace" "30s") "log" (dict "format" "json") -}}
{{- if not (hasKey ($own.admin | default dict) "auth") -}}
{{- $_ := set $config.admin "allow-remote" true -}}
{{- end -}}
{{- if not (or (include "mcpedge.authenticated" .) (include "mcpedge.exposed" .)) -}}
{{- $_ := set $config.listen "allow-anonymous" true -}}
{{- end -}}
{{- with include "mcpedge.redisURL" . -}}
{{- $_ := set $config "redis" (dict "url" .) -}}
{{- end -}}
{{- with include "mcpedge.publicURL" . -}}
{{- $_ := set $config.listen "public-url" . -}}
{{- end -}}
{{- if include "mcpedge.tlsSecret" . -}}
{{- $_ := set $config.listen "tls" (dict "cert" "/etc/mcpedge/tls/tls.crt" "key" "/etc/mcpedge/tls/tls.key") -}}
{{- end -}}
{{- if include "mcpedge.discovers" . -}}
{{- $kubernetes := dict "namespaces" (.Values.discovery.namespaces | default (list .Release.Namespace) | uniq) -}}
{{- with .Values.discovery.selector -}}
{{- $_ := set $kubernetes "selector" . -}}
{{- end -}}
{{- $_ := set $config "kubernetes" $kubernetes -}}
{{- else if not (or $own.backends $own.kubernetes) -}}
{{- $_ := set $config "demo" true -}}
{{- end -}}
{{- $config = mergeOverwrite $config (deepCopy $own) -}}
{{/* Helm reads YAML 1.1, in which off is false and on is true. */ -}}
{{- if kindIs "bool" ($config.auth).dpop -}}
{{- $_ := set $config.auth "dpop" "off" -}}
{{- end -}}
{{- if kindIs "bool" $config.root -}}
{{- $_ := set $config "root" "off" -}}
{{- end -}}
{{- range $set := $config.sets -}}
{{- if kindIs "bool" $set.search -}}
{{- $_ := set $set "search" (ternary "on" "off" $set.search) -}}
{{- end -}}
{{- end -}}
{{- range $backend := concat ($config.backends | default list) (($config.kubernetes).backends | default list) -}}
{{- if kindIs "bool" ($backend.health).service -}}
{{- $_ := set $backend.health "service" "off" -}}
{{- end -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}

{{/* Whether the edge looks for Services: "true" or nothing. */}}
{{- define "mcpedge.discovers" -}}
{{- if or .Values.discovery.enabled (hasKey (.Values.config | default dict) "kubernetes") -}}true{{- end -}}
{{- end -}}

{{/* ConfigMap, or Secret where the configuration has something that is secret. */}}
{{- define "mcpedge.configKind" -}}
{{- $config := fromYaml (include "mcpedge.config" .) -}}
{{- if or (index ($config.redis | default dict) "seal-keys") (contains "@" (default "" ($config.redis).url)) -}}Secret{{- else -}}ConfigMap{{- end -}}
{{- end -}}

{{/* Whether replicas share their state: "true" or nothing. */}}
{{- define "mcpedge.shared" -}}
{{- $config := fromYaml (include "mcpedge.config" .) -}}
{{- if or ($config.redis).url .Values.redis.existingSecret.name .Values.extraEnvFrom -}}true{{- end -}}
{{- range .Values.extraEnv -}}
{{- if eq .name "MCPEDGE_REDIS_URL" -}}true{{- end -}}
{{- end -}}
{{- end -}}

{{/* The port of an address such as :8080. */}}
{{- define "mcpedge.port" -}}
{{- splitList ":" . | last -}}
{{- end -}}

{{- define "mcpedge.scheme" -}}
{{- $config := fromYaml (include "mcpedge.config" .) -}}
{{- ternary "https" "http" (not (empty (($config.listen.tls).cert))) -}}
{{- end -}}

{{/* The whole seconds of a duration such as 1m30s, rounded up. */}}
{{- define "mcpedge.seconds" -}}
{{- $zero := toDate "2006-01-02" "2000-01-01" -}}
{{- $end := $zero | mustDateModify . | mustDateModify "999ms" -}}
{{- sub (unixEpoch $end) (unixEpoch $zero) -}}
{{- end -}}

{{/* Seconds that a drain may take: the delay, the grace, and ten to end. */}}
{{- define "mcpedge.terminationGrace" -}}
{{- if kindIs "invalid" .Values.terminationGracePeriodSeconds -}}
{{- $config := fromYaml (include "mcpedge.config" .) -}}
{{- add (include "mcpedge.seconds" $config.shutdown.delay) (include "mcpedge.seconds" $config.shutdown.grace) 10 -}}
{{- else -}}
{{ .Values.terminationGracePeriodSeconds }}
{{- end -}}
{{- end -}}

{{/* What lets others than the kubelet reach the admin port, for a message; empty: nothing does. */}}
{{- define "mcpedge.adminReached" -}}
{{- if not .Values.networkPolicy.enabled -}}
networkPolicy.enabled: false
{{- else if .Values.networkPolicy.adminFrom -}}
networkPolicy.adminFrom
{{- else if .Values.podMonitor.enabled -}}
podMonitor.enabled
{{- else if .Values.serviceMonitor.enabled -}}
serviceMonitor.enabled
{{- end -}}
{{- end -}}

{{/* Refuses a monitor that would be refused: /metrics needs credentials, and it has none; called with the context and the monitor's name. */}}
{{- define "mcpedge.validateScrape" -}}
{{- $context := index . 0 -}}
{{- $monitor := index $context.Values (index . 1) -}}
{{- with (fromYaml (include "mcpedge.config" $context)).admin.auth -}}
{{- if and $monitor.enabled (not (has "metrics" (.open | default list))) (not (or $monitor.authorization $monitor.tlsConfig)) -}}
{{- fail (printf "%s.enabled, and config.admin.auth has /metrics need credentials: name the Secret that has them in %s.authorization or tlsConfig, or add metrics to config.admin.auth.open, beside probes" (index $ 1) (index $ 1)) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Refuses values with which the edge would not start, or would be open to whom it should not be. */}}
{{- define "mcpedge.validate" -}}
{{- $config := fromYaml (include "mcpedge.config" .) -}}
{{- if not (or (include "mcpedge.authenticated" .) (index $config.listen "allow-anonymous")) -}}
{{- $what := include "mcpedge.exposed" . | default "config.listen.allow-anonymous: false" -}}
{{- fail (printf "%s, and callers need no credentials: say in config.auth, without optional, who may call (docs/access.md), or set config.listen.allow-anonymous: true where a proxy in front authenticates, or anybody may call" (ternary (printf "%s exposes the edge" $what) $what (not (empty (include "mcpedge.exposed" .))))) -}}
{{- end -}}
{{- if and $config.auth (not (index $config.listen "public-url")) -}}
{{- fail "config.auth needs config.listen.public-url, the URL of the edge as clients see it, such as https://mcp.example.com: it is the audience of tokens. Set it, or the first host of ingress or httpRoute" -}}
{{- end -}}
{{- range $name := list "listen" "admin" -}}
{{- if regexMatch "^(127\\.|localhost:|\\[::1\\])" (index $config $name).address -}}
{{- fail (printf "config.%s.address: %s: neither the Service nor the kubelet's probes reach loopback of a pod: give a port, such as \":8080\", or leave it out" $name (index $config $name).address) -}}
{{- end -}}
{{- end -}}
{{- with $config.admin.auth -}}
{{- if and (hasKey . "open") (not (has "probes" .open)) -}}
{{- fail "config.admin.auth.open lacks probes: the kubelet has no credentials: add it" -}}
{{- end -}}
{{- end -}}
{{- if not (or $config.admin.auth (index ((.Values.config | default dict).admin | default dict) "allow-remote")) -}}
{{- with include "mcpedge.adminReached" . -}}
{{- fail (printf "%s lets others reach the admin port, where they may call every tool, end sessions and stop the edge without credentials: set config.admin.auth (docs/access.md), or config.admin.allow-remote: true" .) -}}
{{- end -}}
{{- end -}}
{{- include "mcpedge.validateScrape" (list . "podMonitor") -}}
{{- include "mcpedge.validateScrape" (list . "serviceMonitor") -}}
{{- if gt (len (compact (list .Values.redis.url .Values.redis.existingSecret.name (ternary "trial" "" .Values.redis.trial.enabled)))) 1 -}}
{{- fail "redis: url, existingSecret.name and trial.enabled are three ways to name one Redis: use one" -}}
{{- end -}}
{{- if and (or .Values.autoscaling.enabled (gt (int .Values.replicaCount) 1)) (not (include "mcpedge.shared" .)) -}}
{{- fail (printf "%s means several replicas, which share their state in Redis: set redis.existingSecret.name or redis.url, or redis.trial.enabled to try it" (ternary "autoscaling.enabled" (printf "replicaCount: %v" .Values.replicaCount) .Values.autoscaling.enabled)) -}}
{{- end -}}
{{- with .Values.tls.certManager -}}
{{- if .enabled -}}
{{- if $.Values.tls.existingSecret -}}
{{- fail "tls.existingSecret and tls.certManager.enabled both give the certificate: use one" -}}
{{- end -}}
{{- if not .issuerRef.name -}}
{{- fail "tls.certManager.issuerRef.name is empty: give the name of an Issuer or ClusterIssuer" -}}
{{- end -}}
{{- if not (include "mcpedge.dnsNames" $) -}}
{{- fail "tls.certManager.dnsNames is empty, and there is no host of ingress or httpRoute: give the names that clients call the edge by" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not .Values.ingress.hosts) -}}
{{- fail "ingress.hosts is empty: give a host and its paths" -}}
{{- end -}}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) -}}
{{- fail "httpRoute.parentRefs is empty: name the Gateway that the route belongs to" -}}
{{- end -}}
{{- if and .Values.podMonitor.enabled .Values.serviceMonitor.enabled -}}
{{- fail "podMonitor.enabled and serviceMonitor.enabled would have each replica scraped twice: use one" -}}
{{- end -}}
{{- end -}}

{{/* Names in the certificate, a list in YAML. */}}
{{- define "mcpedge.dnsNames" -}}
{{- $names := .Values.tls.certManager.dnsNames | default list -}}
{{- if not $names -}}
{{- if .Values.ingress.enabled -}}
{{- range .Values.ingress.hosts }}{{ $names = append $names .host }}{{ end -}}
{{- end -}}
{{- if .Values.httpRoute.enabled -}}
{{- $names = concat $names (.Values.httpRoute.hostnames | default list) -}}
{{- end -}}
{{- end -}}
{{- with compact $names | uniq }}{{ toYaml . }}{{ end -}}
{{- end -}}
