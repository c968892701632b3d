package config

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net"
	"regexp"
	"slices"
	"strings"
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

// The kinds of backends.
const (
	// KindContract implements the contract, mcpedge.v1.
	KindContract = "contract"
	// KindReflect is any gRPC service; its methods become tools.
	KindReflect = "reflect"
)

// How backends are shown who is calling.
const (
	// IdentityPrincipal is the contract's Principal alone.
	IdentityPrincipal = "principal"
	// IdentitySigned is a JWT of the edge's beside it, see Config.IdentityKey.
	IdentitySigned = "signed"
	// IdentityExchange is an access token of its own for the caller, see Issuer.Exchange.
	IdentityExchange = "exchange"
)

// BackendExchange is the token that a backend gets for a caller.
type BackendExchange struct {
	// Audience that it is asked for with; empty: the backend's name, unless there is a Resource.
	Audience string `yaml:"audience"`
	// Resource is the same as a URL, for issuers that want that (RFC 8693, section 2.1); empty: none.
	Resource string `yaml:"resource"`
	// Scopes that it is asked for with; empty: as the issuer likes.
	Scopes Names `yaml:"scopes"`
}

// Backend is one gRPC service behind the edge.
type Backend struct {
	// Name identifies it to operators; letters, digits, "-" and "_".
	Name string `yaml:"name"`
	// Target is any gRPC target.
	Target string `yaml:"target" also:"url,address,addr,endpoint,host"`
	// Kind is KindContract, also when empty, or KindReflect.
	Kind string `yaml:"kind"`
	// Schemas is the form in which the schemas of its tools' arguments are shown; empty: Config.Schemas.
	Schemas string `yaml:"schemas"`
	// DescriptorSet is a file with the serialized descriptors of a service of KindReflect; empty: it is
	// asked by server reflection.
	DescriptorSet string `yaml:"descriptor-set" names:"file"`
	// Include and Exclude select the methods of a service of KindReflect that become tools: patterns of
	// "package.Service/Method" in which * is any text. No Include: all.
	Include []string `yaml:"include"`
	Exclude []string `yaml:"exclude"`
	// MaxStreamMessages bounds the messages of one stream of a service of KindReflect; 0: 1,000.
	MaxStreamMessages int `yaml:"max-stream-messages"`
	// Claims of the access token that the backend is told beside subject, issuer, client, actor, scopes and roles: names, or
	// paths with dots; empty: none.
	Claims Names `yaml:"claims"`
	// Identity is how it is shown who is calling: IdentityPrincipal, also when empty, IdentitySigned or
	// IdentityExchange.
	Identity string `yaml:"identity"`
	// Exchange says which token it gets with IdentityExchange; nil: one for the audience Name.
	Exchange *BackendExchange `yaml:"exchange"`
	// Metadata are keys of gRPC metadata that calls of it have, lower case, with their values; empty: none. Values that do not depend on
	// the caller are sent with everything, health checks and reflection too.
	Metadata map[string]MetadataValue `yaml:"metadata"`
	// ForwardHeaders are headers of clients' HTTP requests that calls have as metadata; empty: none. A round that is run without its request, as
	// later ones of a task, has none.
	ForwardHeaders Names `yaml:"forward-headers"`
	// Extensions are ids of protocol extensions that clients are told of when the backend declares them, beside those that the
	// edge knows to pass whole: each adds no methods, notifications or results to the protocol; empty: none.
	Extensions Names `yaml:"extensions"`
	// Prefix is put before its tools' and prompts' names: at most 63 letters, digits, "_", ".", "-" and "/";
	// empty: none. No other backend has a name that begins with it.
	Prefix string `yaml:"prefix"`
	// URIs are prefixes of URIs that no other backend has, each with a scheme; empty: the URIs of the backend are its own only as
	// far as no backend before it has them.
	URIs Names `yaml:"uris"`
	// TLS to the backend; nil: plaintext.
	TLS *TLS `yaml:"tls"`
	// Timeout bounds one round of a call; 0: 60 s.
	Timeout time.Duration `yaml:"timeout"`
	// MaxConcurrent bounds its calls in flight; 0: 1,024.
	MaxConcurrent int `yaml:"max-concurrent"`
	// MaxMessage bounds one message from it; 0: 16 MiB.
	MaxMessage Bytes `yaml:"max-message"`
	// Refresh is how often its lists are read without a change event; 0: 60 s.
	Refresh time.Duration `yaml:"refresh"`
	// Resolve is how often DNS is asked for the addresses of the name in Target; 0: 10 s.
	Resolve time.Duration `yaml:"resolve"`
	// Outliers says when an address of Target gets no calls for a while; nil: never.
	Outliers *Outliers `yaml:"outlier-detection"`
	// Health says what the standard health service of each address is asked; nil: about all of it.
	Health *Health `yaml:"health"`
	// StaleAfter is how long the lists of an unreachable backend are served; 0: 5 min.
	StaleAfter time.Duration `yaml:"stale-after"`
	// OwnLists is how long a request waits for lists that are the caller's own; 0: 2 s.
	OwnLists time.Duration `yaml:"own-lists"`
}

// Health is about the standard health service, grpc.health.v1.Health, of a backend's addresses.
type Health struct {
	// Service is the name that is asked about, or HealthOff; empty: all of an address. An address that does not know
	// a service that is named here is unhealthy.
	Service string `yaml:"service"`
}

// HealthOff is the Service of a Health that is not asked.
const HealthOff = "off"

// TLS towards a backend. All paths are PEM files.
type TLS struct {
	// CA verifies the backend; empty: the system's roots.
	CA string `yaml:"ca" names:"file"`
	// Cert and Key are the edge's own, for mutual TLS; both or none.
	Cert string `yaml:"cert" names:"file"`
	Key  string `yaml:"key" names:"file"`
	// ServerName overrides the name in the backend's certificate; empty: the target's host.
	ServerName string `yaml:"server-name"`
}

// Limits are the bounds. Crossing one gives the client a clear error.
type Limits struct {
	Body                 Bytes         `yaml:"body"`
	Batch                int           `yaml:"batch"`
	Headers              Bytes         `yaml:"headers"`
	ReadTimeout          time.Duration `yaml:"read-timeout"`
	WriteTimeout         time.Duration `yaml:"write-timeout"`
	KeepAlive            time.Duration `yaml:"keep-alive"`
	StreamAfter          time.Duration `yaml:"stream-after"`
	SessionTTL           time.Duration `yaml:"session-ttl"`
	SessionStale         time.Duration `yaml:"session-stale"`
	SessionsPerPrincipal int           `yaml:"sessions-per-principal"`
	StreamsPerSession    int           `yaml:"streams-per-session"`
	CallsPerSession      int           `yaml:"calls-per-session"`
	SessionBytes         Bytes         `yaml:"session-bytes"`
	PrincipalBytes       Bytes         `yaml:"principal-bytes"`
	ListensPerPrincipal  int           `yaml:"listens-per-principal"`
	ListenBytes          Bytes         `yaml:"listen-bytes"`
	Subscriptions        int           `yaml:"subscriptions"`
	LogTTL               time.Duration `yaml:"log-ttl"`
	LogEvents            int           `yaml:"log-events"`
	LogBytes             Bytes         `yaml:"log-bytes"`
	ResultBytes          Bytes         `yaml:"result-bytes"`
	Rounds               int           `yaml:"rounds"`
	CallLifetime         time.Duration `yaml:"call-lifetime"`
	Attempts             int           `yaml:"attempts"`
	TaskGrace            time.Duration `yaml:"task-grace"`
	TaskTTL              time.Duration `yaml:"task-ttl"`
	TaskLifetime         time.Duration `yaml:"task-lifetime"`
	TaskPoll             time.Duration `yaml:"task-poll"`
	TaskPolls            int           `yaml:"task-polls"`
	TasksPerPrincipal    int           `yaml:"tasks-per-principal"`
	// TaskReplicas is how many replicas of Redis have to have a task before its client is told of it; 0: none.
	TaskReplicas int `yaml:"task-replicas"`
	// RunningTasks and RunningTasksPerPrincipal bound those that run on one replica.
	RunningTasks             int   `yaml:"running-tasks"`
	RunningTasksPerPrincipal int   `yaml:"running-tasks-per-principal"`
	PageSize                 int   `yaml:"page-size"`
	PageBytes                Bytes `yaml:"page-bytes"`
	ArgumentValues           int   `yaml:"argument-values"`
	// NameBytes bounds what is remembered of the names of one backend, for while it is away.
	NameBytes    Bytes         `yaml:"name-bytes"`
	Lease        time.Duration `yaml:"lease"`
	HTTP2Streams int           `yaml:"http2-streams"`
	// ConnectionAge is how old a connection may be when it gets an answer, an older one is closed with it; 0: any.
	ConnectionAge time.Duration `yaml:"connection-age"`
	// Connections to Listen; 0: 0.8 of the files that the process may have open.
	Connections int `yaml:"connections"`
	// ConnectionsPerAddress bounds those of one address; 0: half of Connections.
	ConnectionsPerAddress int `yaml:"connections-per-address"`
	// SessionsPerAddress bounds those that anonymous callers of one address begin at once; they are regained over
	// SessionTTL. 0: half of SessionsPerPrincipal, 100 at least, since a session that has ended does not count as one less.
	SessionsPerAddress int           `yaml:"sessions-per-address"`
	StartWait          time.Duration `yaml:"start-wait"`
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

// maxTaskTTL bounds how long tasks are kept that have ended.
const maxTaskTTL = 7 * 24 * time.Hour

// minLease leaves room for three signs of life within a lease.
const minLease = 500 * time.Millisecond

const (
	// leastMemory is what an edge of a few backends takes for itself, and as much for callers and garbage.
	leastMemory = 64 << 20
	// bodiesInMemory is how many times the largest body the memory must have: half of it is for callers, and a call
	// with such a body takes four, with a larger buffer to read it into and two copies of its params.
	bodiesInMemory = 8
)

// LeastMemory is the least Memory with which an edge with these limits serves its clients.
func (c *Config) LeastMemory() Bytes {
	return max(leastMemory, bodiesInMemory*min(c.Limits.Body, math.MaxInt64/bodiesInMemory))
}

var backendName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

var methodPattern = regexp.MustCompile(`^/?[A-Za-z0-9_.*]+(/[A-Za-z0-9_*]+)?$`)

// Validate reports everything that is wrong with the settings of an edge that listens, each with its
// value and what to do. Load has done it.
func (c *Config) Validate() error { return c.validate(serve) }

// validate passes over the listeners of a command that has none.
func (c *Config) validate(command string) error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if command == serve || command == check {
		errs = c.validateListeners()
	}
	names := map[string]bool{}
	for i, b := range c.Backends {
		if !backendName.MatchString(b.Name) {
			wrong("backends[%d]: name %q: use 1 to 64 letters, digits, - and _", i, b.Name)
		}
		if names[b.Name] {
			wrong("backends[%d]: name %q is used twice: give each backend its own", i, b.Name)
		}
		names[b.Name] = true
		errs = append(errs, b.validateTarget(i)...)
		if b.TLS != nil && (b.TLS.Cert == "") != (b.TLS.Key == "") {
			wrong("backends[%d] %s: tls.cert and tls.key go together: give both or none", i, b.Name)
		}
		if b.Resolve != 0 && b.Resolve < minResolve {
			wrong("backends[%d] %s: resolve: %s: give %s or more, or leave it out for 10s", i, b.Name, b.Resolve, minResolve)
		}
		errs = append(errs, b.validateOutliers(i)...)
		errs = append(errs, b.validateKind(i)...)
		errs = append(errs, c.validateIdentity(i)...)
		errs = append(errs, b.validateMetadata(i)...)
		errs = append(errs, b.validateExtensions(i)...)
	}
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, c.Log.Level) {
		wrong("log.level: %q: use debug, info, warn or error", c.Log.Level)
	}
	if !slices.Contains([]string{"text", "json"}, c.Log.Format) {
		wrong("log.format: %q: use text or json", c.Log.Format)
	}
	if !slices.Contains(forms, c.Schemas) {
		wrong("schemas: %q: use auto, portable or full", c.Schemas)
	}
	if _, err := c.Keys(); err != nil {
		errs = append(errs, err)
	}
	if _, err := c.Proxies(); err != nil {
		errs = append(errs, err)
	}
	if c.Redis != "" {
		if _, _, err := c.RedisURL(); err != nil {
			errs = append(errs, err)
		}
	}
	if c.RedisPrefix == "" || strings.ContainsAny(c.RedisPrefix, "{ ") {
		wrong("redis-prefix: %q: give a word without { and spaces", c.RedisPrefix)
	}
	if c.Limits.TaskTTL > maxTaskTTL {
		wrong("limits.task-ttl: %s: give %s or less", c.Limits.TaskTTL, maxTaskTTL)
	}
	if c.Limits.TaskReplicas > 0 && c.Redis == "" {
		wrong("limits.task-replicas: %d: there is no Redis, and so no replica of it: set redis, or leave it out", c.Limits.TaskReplicas)
	}
	if c.Limits.Lease < minLease {
		wrong("limits.lease: %s: give %s or more, so that a replica which is merely busy is not given up", c.Limits.Lease, minLease)
	}
	if least := c.LeastMemory(); c.Memory > 0 && c.Memory < least {
		wrong("memory: %s is too little to serve with limits.body of %s: give %s or more, a smaller body, or 0 to have it chosen", c.Memory, c.Limits.Body, least)
	}
	if _, err := c.QuotaRules(); err != nil {
		errs = append(errs, err)
	}
	if _, err := c.CompilePolicy(); err != nil {
		errs = append(errs, err)
	}
	errs = append(errs, c.Kubernetes.validate()...)
	errs = append(errs, c.Audit.validate(command)...)
	if err := c.validateAuditFile(); err != nil {
		errs = append(errs, err)
	}
	errs = append(errs, c.Limits.validate()...)
	errs = append(errs, c.validateAuth()...)
	return errors.Join(errs...)
}

// minResolve is the least time between two questions to DNS.
const minResolve = time.Second

// maxClaims bounds the claims that one backend is told.
const maxClaims = 32

// validateKind checks what only services of one kind have.
func (b *Backend) validateKind(i int) (errs []error) {
	wrong := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("backends[%d] %s: "+format, append([]any{i, b.Name}, args...)...))
	}
	switch b.Kind {
	case KindReflect:
		if len(b.Claims) > 0 {
			wrong("claims: a service of kind: reflect does not know the contract's Principal: tell it in metadata: {x-NAME: {from: principal.claims.NAME}}, and take them out")
		}
	case "", KindContract:
		if b.DescriptorSet != "" || len(b.Include)+len(b.Exclude) > 0 || b.MaxStreamMessages != 0 {
			wrong("descriptor-set, include, exclude and max-stream-messages are for kind: reflect: set it, or take them out")
		}
	default:
		wrong("kind: %q: use contract or reflect", b.Kind)
	}
	if b.Schemas != "" && !slices.Contains(forms, b.Schemas) {
		wrong("schemas: %q: use auto, portable or full", b.Schemas)
	}
	for at, name := range b.Claims {
		if name == "" || slices.Contains(b.Claims[:at], name) {
			wrong("claims: %q is empty, or there twice: name each claim once", name)
		}
	}
	if len(b.Claims) > maxClaims {
		wrong("claims: there are %d: name at most %d", len(b.Claims), maxClaims)
	}
	for _, p := range slices.Concat(b.Include, b.Exclude) {
		if !methodPattern.MatchString(p) {
			wrong("%q is no pattern of methods: write package.Service/Method, with * for any text", p)
		}
	}
	if b.MaxStreamMessages < 0 {
		wrong("max-stream-messages: %d: give a number above 0, or 0 for 1000", b.MaxStreamMessages)
	}
	return errs
}

func (c *Config) validateListeners() (errs []error) {
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	loopback, err := isLoopback(c.Listen)
	switch {
	case err != nil:
		wrong("listen: %q %s", c.Listen, notAddress(c.Listen))
	case !loopback && !c.AllowAnonymous && c.Auth == nil:
		wrong("listen: %q is reachable from other machines and nobody is authenticated: listen on 127.0.0.1, say with auth who may call, or set allow-anonymous", c.Listen)
	case !loopback && !c.AllowAnonymous && c.Auth.Optional:
		wrong("listen: %q is reachable from other machines, and with auth.optional nobody needs credentials: take that out, or set allow-anonymous", c.Listen)
	}
	errs = append(errs, c.validateTLS()...)
	loopback, err = isLoopback(c.Admin)
	switch {
	case err != nil:
		wrong("admin: %q %s", c.Admin, notAddress(c.Admin))
	case c.Dev && !loopback:
		wrong("dev: %q is reachable from other machines, and the page shows what was called with what: have admin on 127.0.0.1, or leave dev out", c.Admin)
	case !loopback && !c.AllowRemoteAdmin && c.AdminAuth == nil:
		wrong("admin: %q is reachable from other machines, and whoever reaches it may call, end sessions and stop the edge: use 127.0.0.1, say with admin-auth who may, or set allow-remote-admin", c.Admin)
	}
	if _, port, _ := net.SplitHostPort(c.Listen); c.Listen == c.Admin && port != "0" {
		wrong("admin: %q is the address of listen, too: give it another port", c.Admin)
	}
	return errs
}

// AllowedHosts are the Host names to accept: the configured ones, else, on loopback, the names of loopback.
func (c *Config) AllowedHosts() []string { return allowedHosts(c.Hosts, c.Listen) }

// AllowedAdminHosts is AllowedHosts of the admin address.
func (c *Config) AllowedAdminHosts() []string { return allowedHosts(c.AdminHosts, c.Admin) }

func allowedHosts(configured []string, addr string) []string {
	if len(configured) > 0 {
		return configured
	}
	if loopback, err := isLoopback(addr); err == nil && loopback {
		return LoopbackHosts()
	}
	return nil
}

// LoopbackHosts are the names of loopback in a Host header.
func LoopbackHosts() []string { return []string{"localhost", "127.0.0.1", "::1"} }

// AdminOnLoopback says whether only this machine reaches Admin.
func (c *Config) AdminOnLoopback() bool {
	loopback, err := isLoopback(c.Admin)
	return err == nil && loopback
}
