// Package imports holds the import law of the edge: which package does which job, and which
// packages each may import. The test holds the source against it.
package imports

// Law is, for each package below edge/, its one job and which of the project's packages it may import
// directly outside tests. A package that is missing may not exist.
var Law = []Package{
	{"edge/jsonrpc", "parse and print messages, ids, batches; never panics", nil},
	{"edge/frame", "SSE and newline framing", nil},
	{"edge/budget", "admit what holds memory against one budget of the process", nil},
	{"edge/mcp", "the vocabulary the stages share", []string{"edge/budget", "edge/jsonrpc"}},
	{"edge/revision", "a version becomes rules; the only place with version literals", []string{"edge/mcp"}},
	{"edge/transport/accept", "how many connections, of whom, and how long one may keep a server waiting", []string{"edge/telemetry", "edge/mcp"}},
	{"edge/transport/web", "what the HTTP transports share: the server, who may call, reading a POST, refusing, event streams", []string{"edge/budget", "edge/telemetry", "edge/mcp", "edge/jsonrpc", "edge/frame", "edge/transport/accept"}},
	{"edge/transport/streamable", "bytes to exchanges over Streamable HTTP, era and kind to status", []string{"edge/budget", "edge/mcp", "edge/jsonrpc", "edge/frame", "edge/transport/web"}},
	{"edge/transport/sse", "bytes to exchanges over HTTP+SSE: one open GET, one session", []string{"edge/budget", "edge/mcp", "edge/jsonrpc", "edge/frame", "edge/transport/web"}},
	{"edge/auth", "who is calling: tokens and API keys to principals; the metadata that clients find issuers by", []string{"edge/once", "edge/telemetry", "edge/mcp", "edge/transport/web"}},
	{"edge/once", "remembers for a time what may be used once", []string{"edge/mcp"}},
	{"edge/transport/stdio", "lines to exchanges of a client that runs the edge as its child", []string{"edge/budget", "edge/mcp", "edge/jsonrpc", "edge/frame"}},
	{"edge/quota", "how often callers may call: budgets, leased by replicas", []string{"edge/mcp", "internal/pattern"}},
	{"edge/policy", "what callers may do with what exists: rules in CEL, scopes", []string{"edge/jsonrpc", "edge/mcp", "internal/pattern", "internal/uris"}},
	{"edge/policy/external", "asks a policy server, by Envoy's protocol of external authorization", []string{"edge/jsonrpc", "edge/mcp", "edge/policy", "gen/mcpedge/envoy/v1", "internal/grpcconn"}},
	{"edge/hook", "asks hook servers about requests, results and lists", []string{"edge/mcp", "edge/policy", "gen/mcpedge/hook/v1", "gen/mcpedge/v1", "internal/grpcconn"}},
	{"edge/audit", "a record of each decision and each outcome, to a file, standard output, or as OpenTelemetry logs", []string{"edge/jsonrpc", "edge/mcp"}},
	{"edge/access", "whether a call may be made; the one place that decides", []string{"edge/audit", "edge/hook", "edge/jsonrpc", "edge/mcp", "edge/policy", "edge/policy/external", "edge/quota", "edge/revision", "edge/telemetry"}},
	{"edge/era", "choose the era of a message, once", []string{"edge/telemetry", "edge/mcp", "edge/jsonrpc", "edge/revision"}},
	{"edge/call", "the life of one call, of its exchange and of a reader, as pure machines", []string{"edge/state", "edge/state/medium"}},
	{"edge/call/runtime", "drives the machines of calls on one replica", []string{"edge/budget", "edge/call", "edge/mcp", "edge/revision", "edge/state", "edge/state/medium", "edge/telemetry"}},
	{"edge/era/stateful", "handshake, sessions, requests to clients, replay, waiting calls", []string{"edge/once", "edge/call", "edge/call/runtime", "edge/state/medium", "edge/budget", "edge/telemetry", "edge/era", "edge/mcp", "edge/jsonrpc", "edge/revision", "edge/state"}},
	{"edge/era/stateless", "discovery, subscriptions, multi round-trip, sealed state", []string{"edge/budget", "edge/telemetry", "edge/era", "edge/mcp", "edge/jsonrpc", "edge/revision"}},
	{"edge/tasks", "tasks, in both eras: calls that outlive their connections", []string{"edge/budget", "edge/era", "edge/call", "edge/call/runtime", "edge/jsonrpc", "edge/mcp", "edge/quota", "edge/revision", "edge/state", "edge/state/medium", "edge/telemetry"}},
	{"edge/schema", "JSON Schemas of tools, checked within a computed cost", []string{"edge/jsonrpc", "internal/regexcost"}},
	{"edge/ownership", "whose a name or a URI is, also while its backend is away", nil},
	{"edge/catalog", "what is served to whom: lists, names, pages, changes", []string{"edge/catalog/disabled", "edge/catalog/lock", "edge/catalog/overlay", "edge/catalog/search", "edge/catalog/snapshot", "edge/ownership", "edge/policy", "edge/catalog/changes", "edge/mcp", "edge/jsonrpc", "edge/schema", "edge/revision", "edge/translate", "edge/backend", "gen/mcpedge/v1", "edge/schema/portable", "internal/pattern", "internal/uris", "internal/weighted"}},
	{"edge/catalog/disabled", "what operators have disabled, on all replicas", []string{"edge/ownership"}},
	{"edge/catalog/lock", "what backends said of their tools when these were reviewed, as digests", []string{"gen/mcpedge/v1"}},
	{"edge/catalog/overlay", "changes how what backends list is shown", []string{"edge/catalog/lock", "edge/jsonrpc", "edge/mcp", "gen/mcpedge/v1", "internal/pattern", "internal/uris"}},
	{"edge/catalog/search", "finds tools by words", nil},
	{"edge/catalog/snapshot", "what a caller sees as a file, and how two of them differ", []string{"edge/catalog/lock", "edge/catalog/snapshot/variance"}},
	{"edge/catalog/snapshot/variance", "whether what one JSON Schema accepts is accepted by another", nil},
	{"edge/catalog/changes", "notifies subscribers of changes in lists and resources", []string{"edge/backend", "edge/mcp"}},
	{"edge/dispatch", "runs the rounds of requests", []string{"edge/access", "edge/catalog", "edge/catalog/overlay", "edge/dispatch/shorten", "edge/hook", "edge/once", "edge/policy", "edge/redact", "edge/budget", "edge/telemetry", "edge/mcp", "edge/jsonrpc", "edge/schema", "edge/revision", "edge/translate", "edge/backend", "gen/mcpedge/hook/v1", "gen/mcpedge/v1", "internal/uris"}},
	{"edge/redact", "replaces secrets in texts, JSON and messages of the contract, by the setting redact", []string{"edge/jsonrpc", "internal/pattern", "internal/regexcost"}},
	{"edge/dispatch/shorten", "shortens results of tools to a number of tokens", []string{"edge/jsonrpc", "gen/mcpedge/v1"}},
	{"edge/translate", "JSON to protobuf and back under a revision's rules, one pass", []string{"edge/mcp", "edge/jsonrpc", "edge/revision", "gen/mcpedge/v1"}},
	{"edge/kubernetes", "finds backends among the Services of a cluster", []string{"edge/kubernetes/api"}},
	{"edge/kubernetes/api", "lists and watches objects of the Kubernetes API", nil},
	{"edge/certs", "certificates, keys and CAs from files, exchanged while they are in use", nil},
	{"edge/identity", "signs for backends who is calling; the keys that do", []string{"edge/mcp"}},
	{"edge/backend", "dial, health, catalog, watches", []string{"edge/check/vet", "edge/mcp", "gen/mcpedge/v1", "internal/uris", "internal/weighted", "internal/wire"}},
	{"edge/check/vet", "entries of lists, held against the contract", []string{"gen/mcpedge/v1", "internal/uris"}},
	{"edge/check", "calls every RPC of a backend and reports what breaks the contract", []string{
		"edge/backend", "edge/check/vet", "edge/jsonrpc", "edge/mcp", "edge/schema", "edge/schema/portable", "edge/check/lint", "gen/mcpedge/v1", "internal/uris"}},
	{"edge/schema/portable", "tools' schemas in the form that clients and model interfaces take", []string{"edge/jsonrpc"}},
	{"edge/check/lint", "the published rules of model interfaces for tools", nil},
	{"edge/reflect", "the contract for gRPC services that know nothing of it", []string{"edge/reflect/limit", "edge/reflect/schema", "gen/mcpedge/v1", "gen/mcpedge/options/v1", "internal/pattern", "internal/wire"}},
	{"edge/reflect/limit", "what learning a service may cost", []string{"internal/wire"}},
	{"edge/reflect/schema", "JSON Schema for protobuf messages", []string{"edge/reflect/limit", "edge/schema", "edge/schema/portable", "gen/mcpedge/options/v1"}},
	{"edge/reflect/reflecttest", "services known by their .proto files alone, for tests", []string{"gen/mcpedge/options/v1"}},
	{"edge/state", "what outlives a request: interfaces and records", []string{"edge/mcp"}},
	{"edge/state/memory", "the state of one replica", []string{"edge/budget", "edge/state", "edge/state/medium", "edge/mcp"}},
	{"edge/state/redis", "the state of any number of replicas", []string{"edge/catalog/disabled", "edge/ownership", "edge/quota", "edge/telemetry", "edge/state", "edge/state/medium", "edge/mcp"}},
	{"edge/state/medium", "the interface of a medium for calls that are machines, and the rules of their records", []string{"edge/mcp", "edge/state"}},
	{"edge/state/statetest/model", "a medium in memory that can lose writes, for tests", []string{"edge/mcp", "edge/state", "edge/state/medium"}},
	{"edge/state/statetest", "the suite every medium passes", []string{"edge/state", "edge/state/medium", "edge/state/statetest/model", "edge/mcp"}},
	{"edge/admin", "health, readiness, the REST face: catalog and calls, sessions, tasks, backends, drain", []string{
		"edge/tasks", "edge/budget", "edge/backend", "edge/catalog/disabled", "edge/jsonrpc", "edge/mcp", "edge/revision", "edge/state", "edge/telemetry", "edge/transport/web", "gen/mcpedge/admin/v1"}},
	{"edge/dev", "keeps the last traces in memory and shows them, and tasks, to a developer", []string{"edge/tasks", "edge/telemetry", "edge/frame", "edge/transport/web"}},
	{"edge/welcome", "what a browser sees at the MCP address", []string{"edge/revision", "edge/transport/web"}},
	{"edge/telemetry", "spans, metrics and the line of a request; any package may import it", []string{"edge/mcp", "edge/jsonrpc"}},
	{"edge/config", "the only reader of files, flags and environment", []string{"edge/catalog/lock", "edge/catalog/overlay", "edge/catalog/snapshot", "edge/mcp", "edge/policy", "edge/quota", "edge/redact", "internal/pattern"}},
	{"edge/app", "wiring and drain; the only place that names concrete types", []string{
		"edge/access", "edge/audit", "edge/auth", "edge/budget", "edge/admin", "edge/backend", "edge/catalog", "edge/catalog/disabled", "edge/catalog/overlay", "edge/catalog/snapshot", "edge/certs", "edge/config", "edge/dev", "edge/dispatch", "edge/era", "edge/era/stateful", "edge/era/stateless", "edge/hook", "edge/identity", "edge/kubernetes", "edge/kubernetes/api", "edge/mcp", "edge/ownership", "edge/policy", "edge/policy/external", "edge/quota", "edge/redact", "edge/reflect",
		"edge/state", "edge/state/medium", "edge/state/memory", "edge/state/redis", "edge/tasks", "edge/telemetry", "edge/transport/accept", "edge/transport/sse", "edge/transport/stdio", "edge/transport/streamable", "edge/transport/web", "edge/welcome"}},
	{"edge/command", "what the commands share", nil},
	{"edge/command/serve", "the commands that serve: serve and stdio", []string{"edge/app", "edge/command", "edge/command/demo", "edge/config", "edge/telemetry"}},
	{"edge/command/demo", "the bundled services, beside or in the place of backends", []string{"edge/config", "edge/telemetry", "capability", "services/demo"}},
	{"edge/command/check", "the command check", []string{"edge/app", "edge/catalog", "edge/catalog/overlay", "edge/check", "edge/mcp", "gen/mcpedge/v1", "edge/command", "edge/command/demo", "edge/config"}},
	{"edge/command/catalog", "the command catalog: snapshot, diff, rollback, disable and enable", []string{"edge/app", "edge/catalog/snapshot", "edge/command", "edge/command/client", "edge/command/demo", "edge/config", "edge/mcp"}},
	{"edge/command/explain", "the command policy explain", []string{"edge/app", "edge/command", "edge/command/demo", "edge/config"}},
	{"edge/command/client", "the commands that call a running server: call, list, catalog rollback, disable and enable, approvals", []string{"edge/config", "edge/mcp", "edge/revision"}},
	{"edge/command/install", "the command install: what the configuration of a host needs", []string{"edge/config"}},
	{"edge/command/commandtest", "backends for the tests of commands", []string{"capability"}},
	{"edge", "chooses the command", []string{"edge/admin", "edge/app", "edge/command", "edge/command/catalog", "edge/command/check", "edge/command/client", "edge/command/explain", "edge/command/install", "edge/command/serve", "edge/config", "proto"}},
}

// Package is one row of the law.
type Package struct {
	// Path below the module.
	Path string
	// Job in a few words.
	Job string
	// May import these of the project's packages.
	May []string
}

// Only says that a dependency may be imported, outside tests, by these packages alone; a path that
// ends in "/" stands for all below it.
var Only = map[string][]string{
	// What makes the program large: templates have the linker keep every exported method, and xds brings 160 packages.
	"html/template":              nil,
	"text/template":              nil,
	"google.golang.org/grpc/xds": nil,

	"net/http":                     {"edge/transport/web", "edge/transport/streamable", "edge/transport/sse", "edge/auth", "edge/admin", "edge/dev", "edge/welcome", "edge/app", "edge/command/client", "edge/kubernetes/api"},
	"github.com/redis/go-redis/v9": {"edge/state/redis"},
	"os":                           {"edge/audit", "edge/config", "edge/certs", "edge/app", "edge/command/catalog", "edge/command/check", "edge/command/client", "edge/command/explain", "edge/command/install", "edge/command/serve", "edge/kubernetes/api", "edge"},
}
