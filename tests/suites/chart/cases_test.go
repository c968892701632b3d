package chart

// scenario are values that the chart is used with.
type scenario struct {
	name, values string
	// objects that there are beside those of every release.
	objects []string
	// lacks are objects of every release that there are not.
	lacks []string
}

// everywhere are the objects of a release with no values.
var everywhere = []string{
	"ConfigMap/my-mcpedge", "ServiceAccount/my-mcpedge", "Deployment/my-mcpedge", "Service/my-mcpedge", "NetworkPolicy/my-mcpedge",
	"PodDisruptionBudget/my-mcpedge", "Pod/my-mcpedge-test",
}

// locked has callers known by API keys, in a file of a Secret.
const locked = `
extraVolumes: [{name: keys, secret: {secretName: keys}}]
extraVolumeMounts: [{name: keys, mountPath: /etc/mcpedge/keys, readOnly: true}]
test: {tokenSecret: {name: caller}}
`

var scenarios = []scenario{
	{name: "nothing"},
	{name: "redis by URL", values: `
replicaCount: 3
redis: {url: "redis://redis.data:6379/1"}
`},
	{name: "redis by a URL with a password", values: `
redis: {url: "redis://:secret@redis.data:6379"}
`, objects: []string{"Secret/my-mcpedge"}, lacks: []string{"ConfigMap/my-mcpedge"}},
	{name: "redis by a secret", values: `
replicaCount: 2
redis: {existingSecret: {name: redis}, sealKeys: {existingSecret: {name: state, key: state-key}}}
`},
	{name: "redis for trying", values: `
replicaCount: 2
redis: {trial: {enabled: true}}
`, objects: []string{"Deployment/my-mcpedge-redis", "Service/my-mcpedge-redis", "NetworkPolicy/my-mcpedge-redis"}},
	{name: "ingress with authentication", values: locked + `
config: {auth: {api-keys: /etc/mcpedge/keys/keys.yaml}, listen: {trusted-proxies: [10.0.0.0/8]}}
ingress:
  enabled: true
  className: nginx
  annotations: {nginx.ingress.kubernetes.io/proxy-buffering: "off"}
  hosts: [{host: mcp.example.com, paths: [{path: /, pathType: Prefix}]}]
  tls: [{secretName: mcp, hosts: [mcp.example.com]}]
`, objects: []string{"Ingress/my-mcpedge"}},
	{name: "sets alone", values: `
config: {root: off, demo: true, sets: {sums: {include: {tools: ["*"]}}}}
`, lacks: []string{"Pod/my-mcpedge-test"}},
	{name: "a set with search", values: `
config: {root: sums, demo: true, sets: {sums: {include: {tools: ["*"]}, search: on}, rest: {include: {tools: ["*"]}, search: off}}}
`},
	{name: "sets alone, with a test", values: `
config: {root: off, demo: true, sets: {sums: {include: {tools: ["*"]}}}}
test: {url: "http://my-mcpedge.mcp.svc:8080/mcp/sums"}
`},
	{name: "ingress that anybody may call", values: `
config: {listen: {allow-anonymous: true}}
ingress: {enabled: true, hosts: [{host: mcp.example.com}]}
`, objects: []string{"Ingress/my-mcpedge"}},
	{name: "route with authentication", values: locked + `
config: {auth: {api-keys: /etc/mcpedge/keys/keys.yaml}}
httpRoute:
  enabled: true
  parentRefs: [{name: public, namespace: gateways, sectionName: https}]
  hostnames: [mcp.example.com]
`, objects: []string{"HTTPRoute/my-mcpedge"}},
	{name: "load balancer with TLS by a secret", values: locked + `
config: {auth: {api-keys: /etc/mcpedge/keys/keys.yaml}, listen: {public-url: "https://mcp.example.com"}}
service: {type: LoadBalancer, port: 443, loadBalancerSourceRanges: [192.0.2.0/24], externalTrafficPolicy: Local}
tls: {existingSecret: mcp-tls}
test: {tokenSecret: {name: caller}, caSecret: {name: mcp-tls}}
`},
	{name: "route with a certificate of cert-manager", values: `
config: {listen: {allow-anonymous: true}}
httpRoute: {enabled: true, parentRefs: [{name: public}], hostnames: [mcp.example.com]}
tls: {certManager: {enabled: true, issuerRef: {name: letsencrypt}}}
test: {caSecret: {name: my-mcpedge-tls}}
`, objects: []string{"HTTPRoute/my-mcpedge", "Certificate/my-mcpedge"}},
	{name: "autoscaling", values: `
redis: {existingSecret: {name: redis}}
autoscaling:
  enabled: true
  maxReplicas: 20
  metrics:
    - {type: Pods, pods: {metric: {name: mcpedge_calls}, target: {type: AverageValue, averageValue: "100"}}}
`, objects: []string{"HorizontalPodAutoscaler/my-mcpedge"}},
	{name: "monitored by pods", values: `
config: {admin: {allow-remote: true}}
podMonitor: {enabled: true, labels: {release: prometheus}, scrapeTimeout: 10s, relabelings: [{targetLabel: cluster, replacement: one}]}
prometheusRule: {enabled: true, labels: {release: prometheus}}
dashboards: {enabled: true, annotations: {grafana_folder: MCP}}
`, objects: []string{"PodMonitor/my-mcpedge", "PrometheusRule/my-mcpedge", "ConfigMap/my-mcpedge-service", "ConfigMap/my-mcpedge-backend"}},
	{name: "monitored by a service", values: locked + `
config: {auth: {api-keys: /etc/mcpedge/keys/keys.yaml}, listen: {public-url: "https://mcp.example.com"}, admin: {auth: {scope: "mcp:operate"}}}
serviceMonitor: {enabled: true, authorization: {credentials: {name: scrape, key: token}}, metricRelabelings: [{action: labeldrop, regex: pod}]}
`, objects: []string{"ServiceMonitor/my-mcpedge", "Service/my-mcpedge-metrics"}},
	{name: "no policies and no accounts", values: `
config: {admin: {allow-remote: true}}
networkPolicy: {enabled: false}
podDisruptionBudget: {enabled: false}
serviceAccount: {create: false}
redis: {trial: {enabled: true}}
`, objects: []string{"Deployment/my-mcpedge-redis", "Service/my-mcpedge-redis"},
		lacks: []string{"NetworkPolicy/my-mcpedge", "PodDisruptionBudget/my-mcpedge", "ServiceAccount/my-mcpedge"}},
	{name: "narrow policies", values: `
config: {admin: {allow-remote: true}}
networkPolicy:
  from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: agents}}}]
  adminFrom: [{podSelector: {matchLabels: {app: operator}}}]
  egress: [{ports: [{port: 53, protocol: UDP}]}, {to: [{podSelector: {}}]}]
podDisruptionBudget: {minAvailable: 50%, unhealthyPodEvictionPolicy: AlwaysAllow}
`},
	{name: "config wins", values: `
config:
  listen: {address: 0.0.0.0:8000, sse: false, body: 2MiB, trusted-proxies: [10.0.0.0/8]}
  admin: {address: 0.0.0.0:9000}
  shutdown: {delay: 1m30s, grace: 500ms}
  log: {format: text, level: debug}
  redis:
    prefix: mine
    url: redis://own:6379
    seal-keys: [MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=]
  server: {memory: 1073741824}
  clients: {sessions: 1000000}
  calls: {stream-after: 250ms}
redis: {existingSecret: {name: redis}, sealKeys: {existingSecret: {name: state}}}
`, objects: []string{"Secret/my-mcpedge"}, lacks: []string{"ConfigMap/my-mcpedge"}},
	{name: "policy and quotas", values: locked + `
config:
  listen: {public-url: https://mcp.example.com}
  auth: {api-keys: /etc/mcpedge/keys/keys.yaml, dpop: off}
  admin: {auth: {scope: "mcp:operate"}}
  policy:
    default: deny
    hierarchy: {"mcp:write": ["mcp:read"]}
    scopes: [{need: ["mcp:read"]}]
    rules: [{name: the rest, when: 'true', then: allow}]
  quotas: [{per: principal, rate: 600/1m, burst: 50}]
  audit: {file: "-", arguments: none}
`},
	{name: "TLS of the admin address", values: `
config: {admin: {allow-remote: true, tls: {cert: /etc/mcpedge/admin/tls.crt, key: /etc/mcpedge/admin/tls.key}}}
extraVolumes: [{name: admin, secret: {secretName: admin-tls}}]
extraVolumeMounts: [{name: admin, mountPath: /etc/mcpedge/admin}]
podMonitor: {enabled: true, tlsConfig: {insecureSkipVerify: true}}
`, objects: []string{"PodMonitor/my-mcpedge"}},
	{name: "backends", values: `
config:
  demo: true
  backends: [{name: tools, target: "dns:///tools.tools.svc:50051", timeout: 30s, max-message: 8MiB}]
`},
	{name: "backends without a test", values: `
config: {backends: [{name: shop, target: "dns:///shop.shop.svc:50051", kind: reflect, include: ["acme.shop.v1.*"], health: {service: off}}]}
`, lacks: []string{"Pod/my-mcpedge-test"}},
	{name: "telemetry", values: `
telemetry: {otlpEndpoint: "http://127.0.0.1:4318", otlpMetrics: true, sampler: parentbased_traceidratio, samplerArg: 0.01}
`},
	{name: "nothing of what may be absent", values: `
config: {listen: {allow-anonymous: true}, admin: {allow-remote: true}}
resources: null
redis: {existingSecret: {name: redis}}
podSecurityContext: {fsGroup: null}
httpRoute: {enabled: true, parentRefs: [{name: public}], timeouts: null}
autoscaling: {enabled: true, targetCPUUtilizationPercentage: null, behavior: null, metrics: [{type: Resource, resource: {name: memory, target: {type: Utilization, averageUtilization: 80}}}]}
podDisruptionBudget: {maxUnavailable: null, minAvailable: 1}
networkPolicy: {metricsFrom: null}
podMonitor: {enabled: true}
`, objects: []string{"HTTPRoute/my-mcpedge", "HorizontalPodAutoscaler/my-mcpedge", "PodMonitor/my-mcpedge"}},
	{name: "tools by label", values: `
discovery: {enabled: true}
config: {kubernetes: {tls: {ca: /etc/mcpedge/config/ca.pem}}}
`, objects: []string{"Role/my-mcpedge", "RoleBinding/my-mcpedge"}, lacks: []string{"Pod/my-mcpedge-test"}},
	{name: "tools by label of other namespaces", values: `
discovery: {enabled: true, selector: "team in (a, b)", namespaces: [a, b]}
serviceAccount: {create: false, name: reader}
`, objects: []string{"Role/my-mcpedge", "RoleBinding/my-mcpedge", "Role/my-mcpedge", "RoleBinding/my-mcpedge"}, lacks: []string{"ServiceAccount/my-mcpedge", "Pod/my-mcpedge-test"}},
	{name: "tools by label as the configuration has it", values: `
config: {kubernetes: {namespaces: [c]}}
`, objects: []string{"Role/my-mcpedge", "RoleBinding/my-mcpedge"}, lacks: []string{"Pod/my-mcpedge-test"}},
	{name: "everything of pods", values: `
commonLabels: {team: mcp}
image: {digest: "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}
imagePullSecrets: [{name: registry}]
serviceAccount: {name: other, annotations: {example.com/role: edge}}
podAnnotations: {example.com/note: one}
podLabels: {example.com/label: one}
priorityClassName: high
affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app.kubernetes.io/name: mcpedge}}}}]}}
topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}]
nodeSelector: {kubernetes.io/os: linux}
tolerations: [{key: edge, operator: Exists, effect: NoSchedule}]
terminationGracePeriodSeconds: 600
readinessProbe: {exec: {command: [mcpedge, ready, --config=/etc/mcpedge/config/edge.yaml]}, periodSeconds: 2}
livenessProbe: {tcpSocket: {port: mcp}}
extraEnv: [{name: MCPEDGE_LOG_LEVEL, value: debug}, {name: MCPEDGE_REDIS_SEAL_KEYS, valueFrom: {secretKeyRef: {name: state, key: state-key}}}]
extraEnvFrom: [{secretRef: {name: more}}]
extraVolumes: [{name: scratch, emptyDir: {}}]
extraVolumeMounts: [{name: scratch, mountPath: /scratch}]
extraContainers: [{name: proxy, image: "proxy:1"}]
initContainers: [{name: wait, image: "wait:1"}]
extraObjects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: extra, namespace: mcp}, data: {a: b}}]
service: {annotations: {example.com/note: one}, labels: {example.com/label: one}, type: NodePort, nodePort: 30080}
config: {listen: {allow-anonymous: true}}
`, objects: []string{"ServiceAccount/other", "ConfigMap/extra"}, lacks: []string{"ServiceAccount/my-mcpedge"}},
}

// refused are values that are not rendered, and what is said of them.
var refused = []struct{ name, values, says string }{
	{"ingress without authentication", `{ingress: {enabled: true}}`,
		`ingress.enabled exposes the edge, and callers need no credentials: say in config.auth, without optional, who may call (docs/access.md), or set config.listen.allow-anonymous: true`},
	{"route without authentication", `{httpRoute: {enabled: true, parentRefs: [{name: public}]}}`, `httpRoute.enabled exposes the edge`},
	{"load balancer without authentication", `{service: {type: LoadBalancer}}`, `service.type: LoadBalancer exposes the edge`},
	{"node port without authentication", `{service: {type: NodePort}}`, `service.type: NodePort exposes the edge`},
	{"ingress whose callers need no credentials", `{config: {auth: {api-keys: keys.yaml, optional: true}}, ingress: {enabled: true}}`, `ingress.enabled exposes the edge`},
	{"anonymous callers refused and nobody else there", `{config: {listen: {allow-anonymous: false}}}`, `config.listen.allow-anonymous: false, and callers need no credentials`},
	{"authentication without a URL", `{config: {auth: {api-keys: keys.yaml}}}`, `config.auth needs config.listen.public-url`},
	{"a listener on loopback", `{config: {listen: {address: "127.0.0.1:8080"}}}`, `config.listen.address: 127.0.0.1:8080: neither the Service nor the kubelet's probes reach loopback`},
	{"an admin address on loopback", `{config: {admin: {address: "localhost:9090"}}}`, `config.admin.address: localhost:9090`},
	{"probes that need credentials", `{config: {listen: {public-url: "https://a.example"}, auth: {api-keys: k}, admin: {auth: {scope: op, open: [metrics]}}}}`, `config.admin.auth.open lacks probes`},
	{"replicas without a Redis", `{replicaCount: 2}`, `replicaCount: 2 means several replicas, which share their state in Redis`},
	{"autoscaling without a Redis", `{autoscaling: {enabled: true}}`, `autoscaling.enabled means several replicas`},
	{"two kinds of Redis", `{redis: {url: "redis://a:6379", trial: {enabled: true}}}`, `three ways to name one Redis`},
	{"two certificates", `{tls: {existingSecret: a, certManager: {enabled: true, issuerRef: {name: a}, dnsNames: [a.example]}}}`, `both give the certificate`},
	{"a certificate of nobody", `{tls: {certManager: {enabled: true, dnsNames: [a.example]}}}`, `tls.certManager.issuerRef.name is empty`},
	{"a certificate for nothing", `{tls: {certManager: {enabled: true, issuerRef: {name: a}}}}`, `tls.certManager.dnsNames is empty`},
	{"an ingress without hosts", `{config: {listen: {allow-anonymous: true}}, ingress: {enabled: true, hosts: []}}`, `ingress.hosts is empty`},
	{"a route of no gateway", `{config: {listen: {allow-anonymous: true}}, httpRoute: {enabled: true}}`, `httpRoute.parentRefs is empty`},
	{"an admin port without a policy", `{networkPolicy: {enabled: false}}`, `networkPolicy.enabled: false lets others reach the admin port`},
	{"an admin port that others reach", `{networkPolicy: {adminFrom: [{podSelector: {}}]}}`, `networkPolicy.adminFrom lets others reach the admin port`},
	{"an admin port that is scraped by pod", `{podMonitor: {enabled: true}}`, `podMonitor.enabled lets others reach the admin port`},
	{"an admin port that is scraped", `{serviceMonitor: {enabled: true}}`, `serviceMonitor.enabled lets others reach the admin port`},
	{"a monitor without credentials", `{config: {listen: {public-url: "https://a.example"}, auth: {api-keys: k}, admin: {auth: {scope: op}}}, podMonitor: {enabled: true}}`, `podMonitor.enabled, and config.admin.auth has /metrics need credentials`},
	{"a service's monitor without credentials", `{config: {listen: {public-url: "https://a.example"}, auth: {api-keys: k}, admin: {auth: {scope: op, open: [probes]}}}, serviceMonitor: {enabled: true}}`, `serviceMonitor.enabled, and config.admin.auth has /metrics need credentials`},
	{"two monitors", `{config: {admin: {allow-remote: true}}, podMonitor: {enabled: true}, serviceMonitor: {enabled: true}}`, `scraped twice`},
	{"a value that does not exist", `{replicas: 2}`, `additional properties 'replicas' not allowed`},
	{"a former setting", `{config: {limits: {rounds: 1}}}`, `additional properties 'limits' not allowed`},
	{"a setting that does not exist", `{config: {listen: {bodies: 1}}}`, `additional properties 'bodies' not allowed`},
	{"a setting of another type", `{config: {shutdown: {grace: 30}}}`, `at '/config/shutdown/grace': got number, want string`},
}
