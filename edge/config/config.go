package config

import (
	"cmp"
	"time"

	"github.com/mcpedge/mcpedge/edge/catalog/lock"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Config has every setting of the edge. Default returns the values of settings that are not set;
// the types state the units.
type Config struct {
	// Listen is the address of the MCP endpoint.
	Listen string `yaml:"listen"`
	// Admin is the address of health, readiness and administration.
	Admin string `yaml:"admin"`
	// TLS of Listen; the zero value means plain HTTP.
	TLS ListenerTLS `yaml:"tls"`
	// AdminTLS is TLS of Admin. If ClientCA is set, everything but health and readiness requires a
	// client certificate, unless AdminAuth.ClientCert is set.
	AdminTLS ListenerTLS `yaml:"admin-tls"`
	// AllowRemoteAdmin allows an Admin beyond loopback without authentication.
	AllowRemoteAdmin bool `yaml:"allow-remote-admin"`
	// AdminHosts are the accepted Host headers on Admin, except for health and readiness. Empty
	// means the names of loopback on a loopback listener, and any name elsewhere.
	AdminHosts []string `yaml:"admin-hosts"`
	// PublicURL is the URL of the edge as clients see it, without the path of an endpoint. If it is
	// empty and Auth is set, a Listen on loopback determines it.
	PublicURL string `yaml:"public-url"`
	// Auth configures authentication; nil disables it: every caller is anonymous.
	Auth *Auth `yaml:"auth"`
	// AdminAuth configures authentication on Admin; nil disables it.
	AdminAuth *AdminAuth `yaml:"admin-auth"`
	// AllowAnonymous allows a Listen beyond loopback without authentication.
	AllowAnonymous bool `yaml:"allow-anonymous"`
	// SSE serves HTTP+SSE beside Streamable HTTP.
	SSE bool `yaml:"sse"`
	// Dev keeps recent calls in memory, with their arguments and results, and shows them on Admin
	// at /dev. Admin must be on loopback.
	Dev bool `yaml:"dev"`
	// Pprof serves the Go runtime's profiles on Admin, at /debug/pprof/.
	Pprof bool `yaml:"pprof"`
	// Origins of browsers that may call; "*" allows any.
	Origins []string `yaml:"origins"`
	// Hosts are the accepted Host headers, beside the host of PublicURL. Empty means the names of
	// loopback and that host on a loopback listener, and any name elsewhere.
	Hosts []string `yaml:"hosts"`
	// TrustedProxies are addresses and networks (CIDR) of proxies whose forwarding headers name the
	// client's address.
	TrustedProxies []string `yaml:"trusted-proxies"`
	// Backends, in the order of precedence. A file must have some, or set Kubernetes or Demo.
	Backends []Backend `yaml:"backends"`
	// Kubernetes discovers further backends, which come after Backends; nil disables discovery.
	Kubernetes *Kubernetes `yaml:"kubernetes"`
	// Demo starts the bundled services, after Backends.
	Demo bool `yaml:"demo"`
	// Redis is the URL of the Redis that keeps the state of all replicas, see RedisURL. Empty keeps
	// the state in the process, for one replica.
	Redis string `yaml:"redis"`
	// RedisPrefix begins every key and channel in Redis: replicas with the same prefix form one
	// edge.
	RedisPrefix string `yaml:"redis-prefix"`
	// Replica names this replica in logs, in Redis and in place of {replica} in Audit.File; empty
	// uses the host name.
	Replica string `yaml:"replica"`
	// StateKeys seal request states, and what callers, backends and users wrote as Redis holds it: 32
	// bytes each, in base64. The first seals, all open. Replicas must have the same. Empty generates
	// one for request states, which replicas share through Redis, and seals nothing in Redis.
	StateKeys []string `yaml:"state-keys"`
	// IdentityKey is a PEM file of private keys, which is watched. The first signs callers'
	// identities for backends with IdentitySigned. Replicas must have the same. Empty disables
	// signing.
	IdentityKey string `yaml:"identity-key" names:"file"`
	// Sessions says whether requests of the revisions with sessions must name one over Streamable HTTP: SessionsRequired or
	// SessionsOptional.
	Sessions string `yaml:"sessions"`
	// Schemas is the form of input schemas in tools/list: SchemasAuto, SchemasPortable or
	// SchemasFull. A backend may override it.
	Schemas string `yaml:"schemas"`
	// Server is the edge's Implementation in MCP.
	Server Server `yaml:"server"`
	// Memory is the memory limit of the process, in bytes: the limit of Go's runtime, unless
	// GOMEMLIMIT is set. Half of it is for callers. 0 means GOMEMLIMIT, else 0.8 of the container's
	// limit, else half of the machine's memory. Other values must be at least LeastMemory.
	Memory Bytes `yaml:"memory"`
	// Limits bound the resources that clients and backends may use.
	Limits Limits `yaml:"limits"`
	// Log configures logging.
	Log Log `yaml:"log"`
	// Catalog changes how the tools and prompts of backends are shown; nil shows them as backends
	// list them.
	Catalog *Catalog `yaml:"catalog"`
	// CatalogLock reports or hides tools whose definitions are not those of a file; nil compares nothing.
	CatalogLock *CatalogLock `yaml:"catalog-lock"`
	// lock is what is in force of the file of CatalogLock. nil without one, and for settings whose file was not read.
	lock *lock.Lock
	// Sets are parts of what the backends list, by name: lower-case letters, digits and -, at most 63. Each
	// has endpoints, metadata and an audience of its own.
	Sets map[string]Set `yaml:"sets"`
	// Root is what /mcp and /sse serve: RootAll, RootOff, or the name of a set; empty means RootAll. A
	// change takes a restart.
	Root string `yaml:"root"`
	// Set is the set of a client over stdio; empty means what Root says.
	Set string `yaml:"-"`
	// Quotas limit how often tools are called. A call must be within every quota that applies to
	// it.
	Quotas []Quota `yaml:"quotas"`
	// Redact replaces secrets in what clients, logs, spans, the audit and the page of Dev get; empty replaces nothing.
	Redact []Redaction `yaml:"redact"`
	// Policy decides what callers may do; nil allows everything.
	Policy *Policy `yaml:"policy"`
	// Hooks are servers that check requests and results, in the order in which they are asked.
	Hooks []Hook `yaml:"hooks"`
	// Include reads settings of other owners from their files, see Owners.
	Include []Include `yaml:"include"`
	// teams are what is in force of the files of Include, in its order. The backends of an
	// Include without an element are hidden.
	teams []team
	// File is the file that the settings were read from; empty means none.
	File string `yaml:"-"`
	// ruled is true for the settings of an edge that was started with a policy, or with owners that may
	// have rules: it always has a policy, which may allow everything.
	ruled bool

	// origins are the sources of the settings; nil for settings that were not read.
	origins *origins
	// Audit records decisions and outcomes; nil disables it.
	Audit *Audit `yaml:"audit"`
	// TraceContent puts the arguments and results of tool calls into spans; they may be sensitive.
	TraceContent bool `yaml:"trace-content"`
	// DrainDelay is how long the edge keeps serving after SIGTERM while it reports unready. Grace
	// is how long it then waits for running calls.
	DrainDelay time.Duration `yaml:"drain-delay"`
	Grace      time.Duration `yaml:"grace"`
}

// Server is the edge's Implementation as clients see it.
type Server struct {
	Name  string `yaml:"name"`
	Title string `yaml:"title"`
}

// Log configures logging to stderr.
type Log struct {
	// Level: debug, info, warn or error.
	Level string `yaml:"level"`
	// Format: text or json.
	Format string `yaml:"format"`
}

// The values of Config.Sessions.
const (
	// SessionsRequired refuses requests without a session.
	SessionsRequired = "required"
	// SessionsOptional serves a request without a session by itself, and a session has no record until its id is used.
	SessionsOptional = "optional"
)

// SessionsOptional reports whether requests of the revisions with sessions need none.
func (c *Config) SessionsOptional() bool { return c.Sessions == SessionsOptional }

// The values of Config.Schemas.
const (
	// SchemasAuto is SchemasFull for backends of KindContract, whose schemas come from their
	// authors or libraries, and SchemasPortable for those of KindReflect, whose schemas the edge
	// generates.
	SchemasAuto = "auto"
	// SchemasPortable is the subset that all clients and model interfaces accept.
	SchemasPortable = "portable"
	// SchemasFull is what backends send.
	SchemasFull = "full"
)

var forms = []string{SchemasAuto, SchemasPortable, SchemasFull}

// FullSchemas reports whether the schemas of a backend's tools are shown unchanged.
func (c *Config) FullSchemas(b *Backend) bool {
	switch form := cmp.Or(b.Schemas, c.Schemas); form {
	case SchemasFull:
		return true
	case SchemasPortable:
		return false
	}
	return b.Kind != KindReflect
}

// Default returns the settings without a file, environment or flags.
func Default() Config {
	return Config{
		Listen: "127.0.0.1:8080", Admin: "127.0.0.1:9090", SSE: true,
		RedisPrefix: "mcpedge", Sessions: SessionsRequired, Schemas: SchemasAuto,
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
