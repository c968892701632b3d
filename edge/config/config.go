package config

import (
	"github.com/mcpedge/mcpedge/edge/catalog/lock"
)

// Config has every setting of the edge. Default returns the values of settings that are not set;
// the types state the units.
type Config struct {
	// Listen configures the MCP endpoint.
	Listen Listen `yaml:"listen"`
	// Admin configures the address of health, readiness and administration.
	Admin Admin `yaml:"admin"`
	// Server describes this edge.
	Server Server `yaml:"server"`
	// Redis configures the state that replicas share.
	Redis Redis `yaml:"redis"`
	// Sessions configures the sessions of the stateful revisions.
	Sessions Sessions `yaml:"sessions"`
	// Calls configures calls.
	Calls Calls `yaml:"calls"`
	// Tasks configures tasks.
	Tasks Tasks `yaml:"tasks"`
	// Streams configures the streams of calls and their logs.
	Streams Streams `yaml:"streams"`
	// Clients bounds the resources of one client.
	Clients Clients `yaml:"clients"`
	// Lists configures the lists of tools, prompts and resources.
	Lists Lists `yaml:"lists"`
	// Log configures logging.
	Log Log `yaml:"log"`
	// Telemetry configures traces.
	Telemetry Telemetry `yaml:"telemetry"`
	// Shutdown configures what happens after SIGTERM.
	Shutdown Shutdown `yaml:"shutdown"`
	// Advanced has bounds that large deployments and tests change.
	Advanced Advanced `yaml:"advanced"`
	// Auth configures authentication; nil disables it: every caller is anonymous.
	Auth *Auth `yaml:"auth"`
	// Backends, in the order of precedence. A file must have some, or set Kubernetes or Demo.
	Backends []Backend `yaml:"backends" usage:"NAME=TARGET of a gRPC backend, repeatable; none, and no --config: the bundled demo"`
	// Kubernetes discovers further backends, which come after Backends; nil disables discovery.
	Kubernetes *Kubernetes `yaml:"kubernetes"`
	// Demo starts the bundled services, after Backends.
	Demo bool `yaml:"demo" usage:"serve the bundled demo services, beside backends if there are any"`
	// Catalog changes how the tools and prompts of backends are shown. nil shows them as backends
	// list them.
	Catalog *Catalog `yaml:"catalog"`
	// CatalogLock reports or hides tools whose definitions are not those of a file; nil compares nothing.
	CatalogLock *CatalogLock `yaml:"catalog-lock"`
	// lock has the definitions of CatalogLock's file that are in force. It is nil without a lock,
	// and for settings whose file was not read.
	lock *lock.Lock
	// Sets are parts of the backends' lists, by name. A name has at most 63 lower-case letters,
	// digits and hyphens. Each set has its own endpoints, metadata and audience.
	Sets map[string]Set `yaml:"sets"`
	// Root is what /mcp and /sse serve: RootAll, RootOff, or the name of a set; empty means RootAll. A
	// change takes a restart.
	Root string `yaml:"root"`
	// Set is the set of a client over stdio; empty means what Root says.
	Set string `yaml:"-"`
	// Quotas limit the rate of calls of tools. A call must be within every quota that applies to it.
	Quotas []Quota `yaml:"quotas"`
	// Redact replaces secrets in data for clients, logs, spans, the audit and the page of Dev. Empty
	// replaces nothing.
	Redact []Redaction `yaml:"redact"`
	// Policy decides which requests callers may make. nil allows everything.
	Policy *Policy `yaml:"policy"`
	// Hooks are servers that check requests and results, in the order of their calls.
	Hooks []Hook `yaml:"hooks"`
	// Include reads settings of other owners from their files, see Owners.
	Include []Include `yaml:"include"`
	// teams are the settings in force of the files of Include, in its order. The backends of an
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
}

// SessionsOptional reports whether requests of the revisions with sessions need none.
func (c *Config) SessionsOptional() bool { return !c.Sessions.Required }

// Default returns the settings without a file, environment or flags.
func Default() Config {
	return Config{
		Listen: defaultListen(), Admin: defaultAdmin(), Server: defaultServer(), Redis: defaultRedis(), Sessions: defaultSessions(),
		Calls: defaultCalls(), Tasks: defaultTasks(), Streams: defaultStreams(), Clients: defaultClients(), Lists: defaultLists(),
		Log: defaultLog(), Shutdown: defaultShutdown(), Advanced: defaultAdvanced(),
	}
}
