package telemetry

import "go.opentelemetry.io/otel/attribute"

// Scope is the instrumentation scope of the edge's spans and metrics.
const Scope = "github.com/mcpedge/mcpedge"

// Attributes of the conventions for MCP (OpenTelemetry, "Semantic conventions for Model Context
// Protocol", status Development) and of the conventions that they build on.
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

// Attributes of the edge itself. In metrics each has few values: values that clients choose are
// bounded.
const (
	// AttrBackend is a backend's configured name.
	AttrBackend = attribute.Key("mcpedge.backend.name")
	// AttrSet is the name of a configured set; absent at the root.
	AttrSet = attribute.Key("mcpedge.set")
	// AttrShown is the name by which a client named a tool or prompt, if it is not the canonical one.
	AttrShown = attribute.Key("mcpedge.target.shown")
	// AttrEffective is the arguments that the backend of a tool gets, if they differ from those that
	// the client sent, which AttrArguments has.
	AttrEffective = attribute.Key("mcpedge.tool.call.arguments.effective")
	// AttrBackendState is connecting, ready or down.
	AttrBackendState = attribute.Key("mcpedge.backend.state")
	// AttrOutcome is how a request ended: ok, tool_error, input_required, or the kind of its error.
	AttrOutcome = attribute.Key("mcpedge.outcome")
	// AttrClient is the name that a client sends; "_OTHER" beyond the first ones.
	AttrClient = attribute.Key("mcpedge.client.name")
	// AttrRound and AttrAttempt are the round and attempt of a call.
	AttrRound   = attribute.Key("mcpedge.call.round")
	AttrAttempt = attribute.Key("mcpedge.call.attempt")
	// AttrReason is why a span is linked: see Reason.
	AttrReason = attribute.Key("mcpedge.link.reason")
	// AttrReplica is the replica's name.
	AttrReplica = attribute.Key("mcpedge.replica")
	// AttrProgress is the progress of a call.
	AttrProgress = attribute.Key("mcpedge.progress")
	// AttrReplayed is how many events were sent again.
	AttrReplayed = attribute.Key("mcpedge.events.replayed")
	// AttrBound is a setting whose bound was reached.
	AttrBound = attribute.Key("mcpedge.bound")
	// AttrMemory is the use of reserved memory: requests, calls, results, checks, streams, sessions
	// or logs.
	AttrMemory = attribute.Key("mcpedge.memory.for")
	// AttrRule is the name of a policy rule; default or scopes if none decided.
	AttrRule = attribute.Key("mcpedge.policy.rule")
	// AttrTrialBy is the component of a setting in audit mode: policy, confirmation or catalog, for example.
	AttrTrialBy = attribute.Key("mcpedge.policy.by")
	// AttrTrialEffect is what a setting in audit mode would have done: deny, hide or confirm, for example.
	AttrTrialEffect = attribute.Key("mcpedge.policy.effect")
	// AttrConfirmation is the outcome of a confirmation or an approval: asked, declined or granted, for example.
	AttrConfirmation = attribute.Key("mcpedge.confirmation.outcome")
	// AttrOwner is the name of an entry of the setting include.
	AttrOwner = attribute.Key("mcpedge.settings.owner")
	// AttrExternal is the outcome of a request to the policy server: allowed, denied or failed.
	AttrExternal = attribute.Key("mcpedge.policy.outcome")
	// AttrHook is the name of a hook. AttrHookOn is what it checked: request, answer, result or list.
	AttrHook   = attribute.Key("mcpedge.hook.name")
	AttrHookOn = attribute.Key("mcpedge.hook.on")
	// AttrQuota is the name of a quota's rule.
	AttrQuota = attribute.Key("mcpedge.quota.rule")
	// AttrSink is the sink of audit records: file, stdout or otlp.
	AttrSink = attribute.Key("mcpedge.audit.sink")
	// AttrRedaction is the name of an entry of the setting redact. AttrPlace is where: results, questions, progress, logs, spans, audit or dev.
	AttrRedaction = attribute.Key("mcpedge.redact.rule")
	AttrPlace     = attribute.Key("mcpedge.redact.place")
	// AttrRefusal is why credentials were refused; docs/access.md lists the values.
	AttrRefusal = attribute.Key("mcpedge.auth.reason")
	// AttrForeign is why a host or origin was refused: host, origin, site or malformed.
	AttrForeign = attribute.Key("mcpedge.http.reason")
	// AttrIssuer is the configured URL of a token issuer.
	AttrIssuer = attribute.Key("mcpedge.auth.issuer")
	// AttrAuthFile is the content of a file of the setting auth: api-keys or jwks.
	AttrAuthFile = attribute.Key("mcpedge.auth.file")
	// AttrKind is a kind of list: tools, resources, templates or prompts.
	AttrKind = attribute.Key("mcpedge.list")
	// AttrTLS is the setting of a TLS endpoint: listen.tls, admin.tls, backends.NAME.tls, hooks.NAME.tls, or
	// policy.external.tls. AttrTLSFile is one of its files: cert, ca or client-ca.
	AttrTLS     = attribute.Key("mcpedge.tls")
	AttrTLSFile = attribute.Key("mcpedge.tls.file")
	// AttrCommand is a Redis command.
	AttrCommand = attribute.Key("db.operation.name")
	// AttrSystem is the kind of database.
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
	// ReasonContinued: the linked round asked nothing and is continued.
	ReasonContinued Reason = "continued"
	// ReasonCancelled: the client cancelled the linked call at another replica than the one that
	// ran it, or while it waited.
	ReasonCancelled Reason = "cancelled"
	// ReasonTakenOver: the replica that ran the linked span was lost.
	ReasonTakenOver Reason = "taken_over"
	// ReasonResumed: the client resumed the stream of the linked call.
	ReasonResumed Reason = "resumed"
)

// otherName stands for names that are not known to be valid.
const otherName = "_OTHER"
