package telemetry

import "go.opentelemetry.io/otel/attribute"

// Scope is the instrumentation scope of the edge's spans and metrics.
const Scope = "github.com/mcpedge/mcpedge"

// Attributes by the conventions for MCP (OpenTelemetry, "Semantic conventions for Model Context
// Protocol", status Development) and for what they build on.
const (
	AttrMethod       = attribute.Key("mcp.method.name")
	AttrVersion      = attribute.Key("mcp.protocol.version")
	AttrSession      = attribute.Key("mcp.session.id")
	AttrResourceURI  = attribute.Key("mcp.resource.uri")
	AttrRequestID    = attribute.Key("jsonrpc.request.id")
	AttrErrorType    = attribute.Key("error.type")
	AttrStatusCode   = attribute.Key("rpc.response.status_code")
	AttrToolName     = attribute.Key("gen_ai.tool.name")
	AttrPromptName   = attribute.Key("gen_ai.prompt.name")
	AttrOperation    = attribute.Key("gen_ai.operation.name")
	AttrArguments    = attribute.Key("gen_ai.tool.call.arguments")
	AttrResult       = attribute.Key("gen_ai.tool.call.result")
	AttrTransport    = attribute.Key("network.transport")
	AttrProtocolName = attribute.Key("network.protocol.name")
)

// Attributes of the edge's own. In metrics each has few values: what clients choose is bounded.
const (
	// AttrBackend is a backend's configured name.
	AttrBackend = attribute.Key("mcpedge.backend.name")
	// AttrBackendState is connecting, ready or down.
	AttrBackendState = attribute.Key("mcpedge.backend.state")
	// AttrOutcome is how a request ended: ok, tool_error, input_required, or the kind of its error.
	AttrOutcome = attribute.Key("mcpedge.outcome")
	// AttrClient is the name a client gives itself; beyond the first ones "_OTHER".
	AttrClient = attribute.Key("mcpedge.client.name")
	// AttrRound and AttrAttempt are those of a call.
	AttrRound   = attribute.Key("mcpedge.call.round")
	AttrAttempt = attribute.Key("mcpedge.call.attempt")
	// AttrReason is why a span is linked: see Reason.
	AttrReason = attribute.Key("mcpedge.link.reason")
	// AttrReplica is the replica's name.
	AttrReplica = attribute.Key("mcpedge.replica")
	// AttrProgress is how far a call is.
	AttrProgress = attribute.Key("mcpedge.progress")
	// AttrReplayed is how many events were sent again.
	AttrReplayed = attribute.Key("mcpedge.events.replayed")
	// AttrBound is a setting whose bound was met.
	AttrBound = attribute.Key("mcpedge.bound")
	// AttrMemory is what memory is held for: requests, calls, results, checks, streams, sessions or logs.
	AttrMemory = attribute.Key("mcpedge.memory.for")
	// AttrRule is the name of a policy's rule; default and scopes where none decided.
	AttrRule = attribute.Key("mcpedge.policy.rule")
	// AttrExternal is how a question to the policy server ended: allowed, denied or failed.
	AttrExternal = attribute.Key("mcpedge.policy.outcome")
	// AttrQuota is the name of a quota's rule.
	AttrQuota = attribute.Key("mcpedge.quota.rule")
	// AttrSink is where records of the audit go: file, stdout or otlp.
	AttrSink = attribute.Key("mcpedge.audit.sink")
	// AttrRefusal is why credentials were not accepted; docs/access.md lists the values.
	AttrRefusal = attribute.Key("mcpedge.auth.reason")
	// AttrIssuer is the configured URL of an issuer of tokens.
	AttrIssuer = attribute.Key("mcpedge.auth.issuer")
	// AttrAuthFile is what a file of the setting auth holds: api-keys or jwks.
	AttrAuthFile = attribute.Key("mcpedge.auth.file")
	// AttrKind is a kind of list: tools, resources, templates or prompts.
	AttrKind = attribute.Key("mcpedge.list")
	// AttrTLS is the setting of an end of TLS: tls, admin-tls, backends.NAME.tls, or policy.external.tls. AttrTLSFile is one of
	// its files: cert, ca or client-ca.
	AttrTLS     = attribute.Key("mcpedge.tls")
	AttrTLSFile = attribute.Key("mcpedge.tls.file")
	// AttrCommand is a Redis command.
	AttrCommand = attribute.Key("db.operation.name")
	// AttrSystem is the database's kind.
	AttrSystem = attribute.Key("db.system.name")
)

// Reason is why a span is linked to another.
type Reason string

// The reasons.
const (
	// ReasonHTTP: the HTTP request that carried the message is in a trace of its own.
	ReasonHTTP Reason = "http"
	// ReasonAnswered: the client answered what the linked round asked.
	ReasonAnswered Reason = "answered"
	// ReasonContinued: the linked round asked nothing, and is gone on with.
	ReasonContinued Reason = "continued"
	// ReasonTakenOver: the replica that ran the linked span was lost.
	ReasonTakenOver Reason = "taken_over"
	// ReasonResumed: the client came back to the stream of the linked call.
	ReasonResumed Reason = "resumed"
)

// other stands for names that nobody vouches for.
const other = "_OTHER"
