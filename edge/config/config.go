package config

import (
	"cmp"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Config is every setting of the edge. Default states the values of a setting nobody set; units are in
// the types.
type Config struct {
	// Listen is the address of the MCP endpoint.
	Listen string `yaml:"listen"`
	// Admin is the address of health, readiness and administration.
	Admin string `yaml:"admin"`
	// TLS of Listen; its zero value: plain HTTP.
	TLS ListenerTLS `yaml:"tls"`
	// AdminTLS is TLS of Admin. With ClientCA all but health and readiness demand a client certificate, unless
	// AdminAuth.ClientCert is set.
	AdminTLS ListenerTLS `yaml:"admin-tls"`
	// AllowRemoteAdmin allows an Admin beyond loopback: nobody is authenticated there.
	AllowRemoteAdmin bool `yaml:"allow-remote-admin"`
	// AdminHosts are the names the Host header may have on Admin, but for health and readiness; empty:
	// loopback names on a loopback listener, any elsewhere.
	AdminHosts []string `yaml:"admin-hosts"`
	// PublicURL is the URL of the edge as clients see it, without the path of an endpoint; empty: with Auth, that of a
	// Listen on loopback.
	PublicURL string `yaml:"public-url"`
	// Auth says who may call; nil: everybody, and nobody is told from others.
	Auth *Auth `yaml:"auth"`
	// AdminAuth says who may use Admin; nil: whoever reaches it.
	AdminAuth *AdminAuth `yaml:"admin-auth"`
	// AllowAnonymous allows a Listen beyond loopback without authentication.
	AllowAnonymous bool `yaml:"allow-anonymous"`
	// SSE serves HTTP+SSE beside Streamable HTTP.
	SSE bool `yaml:"sse"`
	// Dev keeps the last calls in memory and shows them on Admin, at /dev, with their arguments and
	// results; Admin must be on loopback.
	Dev bool `yaml:"dev"`
	// Pprof serves the Go runtime's profiles on Admin, at /debug/pprof/.
	Pprof bool `yaml:"pprof"`
	// Origins of browsers that may call; "*" allows any.
	Origins []string `yaml:"origins"`
	// Hosts are the names the Host header may have; empty: loopback names on a loopback listener,
	// any elsewhere.
	Hosts []string `yaml:"hosts"`
	// TrustedProxies are addresses and networks (CIDR) of proxies, whose word is taken for the address of a client.
	TrustedProxies []string `yaml:"trusted-proxies"`
	// Backends in the order in which they win over each other. Settings of a file have some, or Kubernetes, or Demo.
	Backends []Backend `yaml:"backends"`
	// Kubernetes finds more of them, which come behind; nil: none are looked for.
	Kubernetes *Kubernetes `yaml:"kubernetes"`
	// Demo starts the bundled services, behind Backends if there are any.
	Demo bool `yaml:"demo"`
	// Redis keeps the state of any number of replicas: a URL, see RedisURL. Empty: the state is kept in
	// the process, for one replica.
	Redis string `yaml:"redis"`
	// RedisPrefix begins every key and channel in it: replicas with the same one belong together.
	RedisPrefix string `yaml:"redis-prefix"`
	// Replica names this replica in logs, in Redis and, for {replica}, in Audit.File; empty: the host's name.
	Replica string `yaml:"replica"`
	// StateKeys seal request states: base64 of 32 bytes each, the first seals. Replicas share them; none:
	// a random one, which replicas share through Redis.
	StateKeys []string `yaml:"state-keys"`
	// IdentityKey is a PEM file with the private key, or keys, of which the first signs who is calling for backends with
	// IdentitySigned; replicas share it, and it is watched. Empty: there is none.
	IdentityKey string `yaml:"identity-key" names:"file"`
	// Schemas is the form in which tools/list shows the schemas of tools' arguments: SchemasAuto, the default,
	// SchemasPortable or SchemasFull. A backend may have another.
	Schemas string `yaml:"schemas"`
	// Server is how the edge names itself to clients.
	Server Server `yaml:"server"`
	// Memory is what the process may take, in bytes: the limit that Go's runtime keeps to, unless GOMEMLIMIT is set, and
	// half of it is what callers may hold. 0: the program chooses GOMEMLIMIT, else 0.8 of the container's limit, else half
	// of the machine's memory. Else it is at least LeastMemory.
	Memory Bytes `yaml:"memory"`
	// Limits bound what clients and backends may use.
	Limits Limits `yaml:"limits"`
	// Log says what is logged.
	Log Log `yaml:"log"`
	// Catalog changes how the tools and prompts of backends are shown; nil: they are shown as backends list them.
	Catalog *Catalog `yaml:"catalog"`
	// Quotas limit how often tools are called. A call has to be within each that is about it.
	Quotas []Quota `yaml:"quotas"`
	// Policy says what callers may do; nil: everything.
	Policy *Policy `yaml:"policy"`
	// File is where the settings were read from; empty: from none.
	File string `yaml:"-"`
	// Audit records decisions and outcomes; nil: nothing is recorded.
	Audit *Audit `yaml:"audit"`
	// TraceContent puts the arguments and results of tool calls into spans; they may be sensitive.
	TraceContent bool `yaml:"trace-content"`
	// DrainDelay is how long the edge keeps serving, unready, after SIGTERM; Grace how long it then
	// waits for what runs.
	DrainDelay time.Duration `yaml:"drain-delay"`
	Grace      time.Duration `yaml:"grace"`
}

// Server is the edge's Implementation as clients see it.
type Server struct {
	Name  string `yaml:"name"`
	Title string `yaml:"title"`
}

// Log says what is logged, to stderr.
type Log struct {
	// Level: debug, info, warn or error.
	Level string `yaml:"level"`
	// Format: text or json.
	Format string `yaml:"format"`
}

// The forms in which schemas are shown.
const (
	// SchemasAuto is SchemasFull for backends of KindContract, whose authors wrote the schemas or chose a library that does, and
	// SchemasPortable for those of KindReflect, whose schemas the edge makes.
	SchemasAuto = "auto"
	// SchemasPortable is the form that clients and model interfaces take.
	SchemasPortable = "portable"
	// SchemasFull is what backends send.
	SchemasFull = "full"
)

var forms = []string{SchemasAuto, SchemasPortable, SchemasFull}

// FullSchemas reports whether the schemas of a backend's tools are shown as it sends them.
func (c *Config) FullSchemas(b *Backend) bool {
	switch form := cmp.Or(b.Schemas, c.Schemas); form {
	case SchemasFull:
		return true
	case SchemasPortable:
		return false
	}
	return b.Kind != KindReflect
}

// Default returns the settings of an edge that was told nothing.
func Default() Config {
	return Config{
		Listen: "127.0.0.1:8080", Admin: "127.0.0.1:9090", SSE: true,
		RedisPrefix: "mcpedge", Schemas: SchemasAuto,
		Server: Server{Name: "mcpedge", Title: "MCP Edge"},
		Limits: Limits{
			Body: 4<<20 - 64<<10, Batch: 64, Headers: 64 << 10,
			ReadTimeout: 30 * time.Second, WriteTimeout: 10 * time.Second, KeepAlive: 15 * time.Second, StreamAfter: time.Second,
			SessionTTL: time.Hour, SessionStale: 30 * time.Second,
			SessionsPerPrincipal: 100_000, StreamsPerSession: 256, CallsPerSession: 256, SessionBytes: 32 << 20, PrincipalBytes: 256 << 20,
			ListensPerPrincipal: 20_000, ListenBytes: 64 << 20, Subscriptions: 1024,
			LogTTL: 5 * time.Minute, LogEvents: 1024, LogBytes: 4 << 20, ResultBytes: 16 << 20,
			Rounds: mcp.DefaultRounds, CallLifetime: mcp.DefaultCallLifetime, Attempts: mcp.DefaultAttempts, PageSize: 1000, PageBytes: 1 << 20, ArgumentValues: 50_000, NameBytes: 1 << 20, HTTP2Streams: 1000,
			TaskGrace: 2 * time.Second, TaskTTL: time.Hour, TaskLifetime: mcp.DefaultTaskLifetime, TaskPoll: time.Second, TaskPolls: 10,
			TasksPerPrincipal: 1000, RunningTasks: 1024, RunningTasksPerPrincipal: 100,
			Lease: 3 * time.Second, StartWait: 2 * time.Second,
		},
		Log:        Log{Level: "info", Format: "text"},
		DrainDelay: 0, Grace: 30 * time.Second,
	}
}
