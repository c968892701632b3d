package telemetry

import "go.opentelemetry.io/otel/attribute"

// InstrumentKind is the kind of a metric.
type InstrumentKind string

// The kinds of instruments.
const (
	Histogram InstrumentKind = "histogram"
	Counter   InstrumentKind = "counter"
	Gauge     InstrumentKind = "gauge"
)

// Instrument is one metric of the edge. Its name is public: it only changes with a major version.
type Instrument struct {
	Name        string
	Kind        InstrumentKind
	Unit        string
	Description string
	Attributes  []attribute.Key
}

// The names of the metrics.
const (
	ServerOperation     = "mcp.server.operation.duration"
	ClientOperation     = "mcp.client.operation.duration"
	ServerSession       = "mcp.server.session.duration"
	ListenDuration      = "mcpedge.listen.duration"
	BackendCall         = "mcpedge.backend.call.duration"
	HookDuration        = "mcpedge.hook.duration"
	HookDecisions       = "mcpedge.hook.decisions"
	HookBreaker         = "mcpedge.hook.breaker"
	RedisCommand        = "mcpedge.redis.command.duration"
	ClientRequests      = "mcpedge.client.operations"
	BoundHits           = "mcpedge.bound.hits"
	SessionsCreated     = "mcpedge.sessions.created"
	SessionsEnded       = "mcpedge.sessions.ended"
	SessionsHeld        = "mcpedge.sessions.held"
	SessionsMissing     = "mcpedge.sessions.missing"
	StreamsOpen         = "mcpedge.streams.open"
	StandaloneOpen      = "mcpedge.standalone.open"
	ListensOpen         = "mcpedge.listens.open"
	StreamsResumed      = "mcpedge.streams.resumed"
	EventsReplayed      = "mcpedge.events.replayed"
	EventsDropped       = "mcpedge.events.dropped"
	LogAppends          = "mcpedge.log.appends"
	LogRollbacks        = "mcpedge.log.rollbacks"
	QueueDepth          = "mcpedge.queue.depth"
	CallsBegun          = "mcpedge.calls.begun"
	CallsOpened         = "mcpedge.calls.opened"
	CallsParked         = "mcpedge.calls.parked"
	CallsCancelled      = "mcpedge.calls.cancelled"
	CallsTakenOver      = "mcpedge.calls.taken_over"
	CallsRerun          = "mcpedge.calls.rerun"
	CallsUnknown        = "mcpedge.calls.unknown_outcome"
	TasksCreated        = "mcpedge.tasks.created"
	TasksUnacknowledged = "mcpedge.tasks.unacknowledged"
	TasksRunning        = "mcpedge.tasks.running"
	TasksQueued         = "mcpedge.tasks.queued"
	TasksEnded          = "mcpedge.tasks.ended"
	TasksParked         = "mcpedge.tasks.parked"
	TasksTakenOver      = "mcpedge.tasks.taken_over"
	TasksAge            = "mcpedge.tasks.age"
	TasksQueueAge       = "mcpedge.tasks.queue.age"
	TasksQueueTime      = "mcpedge.tasks.queue.duration"
	WritesFenced        = "mcpedge.writes.fenced"
	AnswersIgnored      = "mcpedge.answers.ignored"
	StateErrors         = "mcpedge.state.errors"
	StateReachable      = "mcpedge.state.reachable"
	MemoryAdmitted      = "mcpedge.memory.admitted"
	MemoryLimit         = "mcpedge.memory.limit"
	MemoryHolders       = "mcpedge.memory.holders"
	MemoryRefused       = "mcpedge.memory.refused"
	SettingsStale       = "mcpedge.settings.stale"
	SettingsOwnerStale  = "mcpedge.settings.owner.stale"
	SettingsRolledBack  = "mcpedge.settings.rolled_back"
	SettingsGeneration  = "mcpedge.settings.generation"
	CatalogExchanges    = "mcpedge.catalog.exchanges"
	CatalogDisabled     = "mcpedge.catalog.disabled"
	CatalogDisabledAge  = "mcpedge.catalog.disabled.age"
	QuotaRefused        = "mcpedge.quota.refused"
	QuotaUnshared       = "mcpedge.quota.unshared"
	QuotaExchanges      = "mcpedge.quota.exchanges"
	PolicyDenied        = "mcpedge.policy.denied"
	PolicyFailed        = "mcpedge.policy.failed"
	PolicyTrials        = "mcpedge.policy.trial"
	PolicyConfirmations = "mcpedge.policy.confirmations"
	PolicyExchanges     = "mcpedge.policy.exchanges"
	PolicyExternal      = "mcpedge.policy.external"
	AuditWritten        = "mcpedge.audit.written"
	AuditLost           = "mcpedge.audit.lost"
	AuditRefused        = "mcpedge.audit.refused"
	AuditQueue          = "mcpedge.audit.queue"
	RedactReplaced      = "mcpedge.redact.replaced"
	RedactWould         = "mcpedge.redact.would"
	RedactExceeded      = "mcpedge.redact.exceeded"
	HTTPRefused         = "mcpedge.http.refused"
	AuthRefused         = "mcpedge.auth.refused"
	AuthKeyFetches      = "mcpedge.auth.key_fetches"
	AuthKeyAge          = "mcpedge.auth.key_age"
	AuthQuestions       = "mcpedge.auth.introspections"
	AuthStale           = "mcpedge.auth.stale"
	AuthExpired         = "mcpedge.auth.expired_streams"
	IdentitySigned      = "mcpedge.identity.signed"
	IdentityExchanges   = "mcpedge.identity.exchanges"
	IdentityStale       = "mcpedge.identity.stale"
	Ready               = "mcpedge.ready"
	BackendUp           = "mcpedge.backend.up"
	BackendInState      = "mcpedge.backend.state"
	BackendCalls        = "mcpedge.backend.calls"
	BackendWatches      = "mcpedge.backend.watches"
	BackendProblems     = "mcpedge.backend.problems"
	CatalogEntries      = "mcpedge.catalog.entries"
	CatalogAge          = "mcpedge.catalog.age"
	TLSExpiry           = "mcpedge.tls.expiry"
	TLSStale            = "mcpedge.tls.stale"
	TLSExchanges        = "mcpedge.tls.exchanges"
	operationWhat       = "Duration of a request or notification that the edge "
	eventsDroppedWhat   = "Progress and log messages that no client will see, by reason: queue (a call's queue was full), log (advanced.stream-bytes or sessions.bytes), unread (the call had no stream), unwritten (the state did not take them)"
)

var operationAttributes = []attribute.Key{
	AttrMethod, AttrToolName, AttrPromptName, AttrOperation, AttrVersion, AttrTransport, AttrProtocolName,
	AttrErrorType, AttrStatusCode, AttrSet,
}

// Catalogue lists every metric of the edge, in the order of the documentation. Attributes without a
// value are omitted.
var Catalogue = []Instrument{
	{ServerOperation, Histogram, "s", operationWhat + "served, from its receipt to its result; a call that asked its user, with the time the user took", operationAttributes},
	{ClientOperation, Histogram, "s", operationWhat + "sent to a client, until its answer", []attribute.Key{AttrMethod, AttrVersion, AttrTransport, AttrProtocolName, AttrErrorType, AttrStatusCode}},
	{ServerSession, Histogram, "s", "Life of a session that its client ended", []attribute.Key{AttrVersion, AttrTransport, AttrProtocolName}},
	{ListenDuration, Histogram, "s", "How long a subscriptions/listen was open", []attribute.Key{AttrVersion}},
	{BackendCall, Histogram, "s", "Duration of one round of a call at a backend", []attribute.Key{AttrBackend, AttrMethod, AttrOutcome}},
	{HookDuration, Histogram, "s", "Duration of a check by a hook, by what it checked and by outcome: pass, replace, deny, or failed (no response in time, or one that cannot be used)", []attribute.Key{AttrHook, AttrHookOn, AttrOutcome}},
	{HookDecisions, Counter, "{decision}", "Decisions of hooks, also in mode: audit, by what they checked and by outcome: those of mcpedge.hook.duration, and, without an RPC, busy (concurrency was reached) and open (the breaker was open)", []attribute.Key{AttrHook, AttrHookOn, AttrOutcome}},
	{HookBreaker, Gauge, "{hook}", "1 while the breaker of a hook is open, because the hook did not respond several times in a row; it gets a trial RPC after a pause; else 0", []attribute.Key{AttrHook}},
	{RedisCommand, Histogram, "s", "Duration of a round trip to Redis", []attribute.Key{AttrCommand, AttrOutcome}},
	{ClientRequests, Counter, "{operation}", "Operations by the name that their client declares; 64 names have their own series: the first 8 of each principal, and the first 16 of anonymous callers if other callers have credentials", []attribute.Key{AttrClient, AttrOutcome}},
	{BoundHits, Counter, "{hit}", "How often a limit was reached, by its setting", []attribute.Key{AttrBound}},
	{SessionsCreated, Counter, "{session}", "Sessions created by this replica", nil},
	{SessionsEnded, Counter, "{session}", "Sessions that their client ended at this replica", nil},
	{SessionsHeld, Gauge, "{session}", "Sessions that this replica has a copy of", nil},
	{SessionsMissing, Counter, "{request}", "Requests and batches of a revision with sessions that name no session", []attribute.Key{AttrVersion}},
	{StreamsOpen, Gauge, "{stream}", "Open streams of calls", nil},
	{StandaloneOpen, Gauge, "{stream}", "Open standalone streams", nil},
	{ListensOpen, Gauge, "{stream}", "Open subscriptions/listen", nil},
	{StreamsResumed, Counter, "{stream}", "Streams that a client resumed", nil},
	{EventsReplayed, Counter, "{event}", "Events of the log that were replayed to a client that resumed a stream", nil},
	{EventsDropped, Counter, "{event}", eventsDroppedWhat, []attribute.Key{AttrBound}},
	{LogAppends, Counter, "{event}", "Events written to the logs of streams", nil},
	{LogRollbacks, Counter, "{rollback}", "Logs that had lost events which were already sent", nil},
	{QueueDepth, Gauge, "{event}", "Events that wait to be written to the logs", nil},
	{CallsBegun, Counter, "{call}", "Calls of sessions that were begun", nil},
	{CallsOpened, Counter, "{call}", "Calls of sessions that became streams", nil},
	{CallsParked, Counter, "{call}", "Rounds of calls that ended with requests to the client", nil},
	{CallsCancelled, Counter, "{call}", "Calls of sessions that the client cancelled", nil},
	{CallsTakenOver, Counter, "{call}", "Calls taken over from a replica that was lost", nil},
	{CallsRerun, Counter, "{call}", "Calls taken over that were run again", nil},
	{CallsUnknown, Counter, "{call}", "Calls taken over whose outcome is unknown", nil},
	{TasksCreated, Counter, "{task}", "Requests that were answered with a task", nil},
	{TasksUnacknowledged, Counter, "{task}", "Tasks that were not made because fewer replicas of Redis acknowledged them in time than redis.acknowledge demands", nil},
	{TasksRunning, Gauge, "{task}", "Tasks that this replica runs, calls that may become one included", nil},
	{TasksQueued, Gauge, "{task}", "Tasks that wait for their turn to run here", nil},
	{TasksEnded, Counter, "{task}", "Tasks that ended at this replica: completed, failed (also by a result with isError), or cancelled", []attribute.Key{AttrOutcome}},
	{TasksParked, Counter, "{task}", "Rounds of tasks that ended with requests to the client", nil},
	{TasksTakenOver, Counter, "{task}", "Tasks taken over from a replica that was lost", nil},
	{TasksAge, Gauge, "s", "Time since the oldest of the tasks that this replica runs was created; 0 without one", nil},
	{TasksQueueAge, Gauge, "s", "Waiting time of the task that has waited longest for its turn to run here; 0 without one", nil},
	{TasksQueueTime, Histogram, "s", "How long a task waited from its creation for its turn to run; a task that continues after an answer or at another replica does not wait", nil},
	{WritesFenced, Counter, "{write}", "Writes refused because another replica has the call", nil},
	{AnswersIgnored, Counter, "{answer}", "Answers of clients that match no open question: unknown or duplicate", []attribute.Key{AttrOutcome}},
	{StateErrors, Counter, "{error}", "Operations on the durable state that failed", nil},
	{StateReachable, Gauge, "{replica}", "1 while this replica reaches Redis, as /v1/status reports, or has its state in memory, else 0", nil},
	{MemoryAdmitted, Gauge, "By", "Memory that is held on behalf of callers, by purpose", []attribute.Key{AttrMemory}},
	{MemoryLimit, Gauge, "By", "The limit of mcpedge.memory.admitted: half of the setting server.memory", nil},
	{MemoryHolders, Gauge, "{caller}", "Callers that hold memory: principals, or the addresses of anonymous callers", nil},
	{MemoryRefused, Counter, "{refusal}", "How often a caller was refused for lack of memory, by purpose", []attribute.Key{AttrMemory}},
	{SettingsStale, Gauge, "{file}", "1 while the file of settings cannot be used and the backends, catalog, sets, include, policy, hooks, quotas and redaction that were read before stay in force, else 0", nil},
	{SettingsOwnerStale, Gauge, "{owner}", "1 while the files of an owner, an entry of the setting include, cannot be used: what was read before stays in force, or its backends are hidden; else 0", []attribute.Key{AttrOwner}},
	{SettingsRolledBack, Gauge, "{replica}", "1 while an operator has rolled the settings back and the file has others, which a restart would put in force, else 0", nil},
	{SettingsGeneration, Gauge, "{generation}", "How many generations of backends, catalog, sets, include, policy, hooks, quotas and redaction this process has put in force; 1 after its start", nil},
	{CatalogExchanges, Counter, "{exchange}", "How often a changed catalog was put in force", nil},
	{CatalogDisabled, Gauge, "{entry}", "Tools, backends and sets that operators have disabled, as far as this replica knows", nil},
	{CatalogDisabledAge, Gauge, "s", "Time since this replica read what operators have disabled at other replicas, or since its start before the first time; 0 with the state in memory", nil},
	{QuotaRefused, Counter, "{call}", "Calls of tools that were refused because a quota was used up, by its rule", []attribute.Key{AttrQuota}},
	{QuotaUnshared, Counter, "{call}", "Calls of tools that were charged to this replica's share of a quota, because the quota that replicas share could not be reached", nil},
	{QuotaExchanges, Counter, "{exchange}", "How often changed quotas were put in force", nil},
	{PolicyDenied, Counter, "{request}", "Requests that the policy did not allow, by rule: default if no rule applied, scopes if scopes were missing", []attribute.Key{AttrRule}},
	{PolicyFailed, Counter, "{request}", "Requests that were denied because the condition of a policy's rule could not be evaluated", []attribute.Key{AttrRule}},
	{PolicyTrials, Counter, "{request}", "Requests on which a setting in audit mode would have had an effect, by component, name of the setting and effect; the first 1,024 combinations", []attribute.Key{AttrTrialBy, AttrRule, AttrTrialEffect}},
	{PolicyConfirmations, Counter, "{confirmation}", "Confirmations and approvals of calls, by name and outcome: asked; accepted, declined, dismissed or invalid answers; remembered (an earlier answer applies, so the user is not asked); used (the same answer, or the same round, was sent again); unacknowledged (fewer replicas of Redis than redis.acknowledge demands stored in time that it is used); for approvals by another person: requested, granted, refused, expired, revoked (the policy no longer allows the requester the call) and denied (the call cannot wait), of which the four that end a wait have a series with value 0 from the first wait; the first 1,024 combinations", []attribute.Key{AttrRule, AttrConfirmation}},
	{PolicyExchanges, Counter, "{exchange}", "How often a changed policy was put in force", nil},
	{PolicyExternal, Counter, "{request}", "Requests for the policy server, by outcome: allowed, denied, failed (it did not decide in time), or omitted (they were not sent, because their params are too large or cannot be represented)", []attribute.Key{AttrExternal}},
	{AuditWritten, Counter, "{record}", "Records of the audit that were written, by sink", []attribute.Key{AttrSink}},
	{AuditLost, Counter, "{record}", "Records of the audit that were lost, because the queue was full or the edge ended before they could be written, by sink", []attribute.Key{AttrSink}},
	{AuditRefused, Counter, "{request}", "Requests that were refused because they could not be recorded, with audit.required", nil},
	{AuditQueue, Gauge, "{record}", "Records of the audit that wait to be written, by sink", []attribute.Key{AttrSink}},
	{RedactReplaced, Counter, "{replacement}", "Texts that the setting redact replaced, by its entry and the place; a text may be counted more than once", []attribute.Key{AttrRedaction, AttrPlace}},
	{RedactWould, Counter, "{replacement}", "Texts that entries of the setting redact with mode: audit would have replaced, by entry and place", []attribute.Key{AttrRedaction, AttrPlace}},
	{RedactExceeded, Counter, "{text}", "Texts and values that were replaced as a whole because searching them would have exceeded the bounds of the setting redact, by place", []attribute.Key{AttrPlace}},
	{HTTPRefused, Counter, "{request}", "Requests at either address that were refused for their Host or Origin, by reason: host (not among listen.hosts, admin.hosts), origin (not among listen.origins), site (sent by a page of another site), malformed (in a form that no client sends)", []attribute.Key{AttrForeign}},
	{AuthRefused, Counter, "{request}", "Requests whose credentials were not accepted, by reason; with the setting auth", []attribute.Key{AttrRefusal}},
	{AuthKeyFetches, Counter, "{fetch}", "Attempts to fetch the keys of an issuer of tokens, by outcome", []attribute.Key{AttrIssuer, AttrOutcome}},
	{AuthKeyAge, Gauge, "s", "Time since the keys of an issuer of tokens were read", []attribute.Key{AttrIssuer}},
	{AuthQuestions, Counter, "{request}", "Introspections of opaque tokens at an issuer, by outcome", []attribute.Key{AttrIssuer, AttrOutcome}},
	{AuthStale, Gauge, "{file}", "1 while a file of keys cannot be used and what was read before stays in force, revoked keys too, else 0", []attribute.Key{AttrAuthFile, AttrIssuer}},
	{AuthExpired, Counter, "{stream}", "Streams that ended because their caller's credentials had expired, or were found revoked", nil},
	{IdentitySigned, Counter, "{identity}", "Identities of callers that were signed for backends, by outcome", []attribute.Key{AttrBackend, AttrOutcome}},
	{IdentityExchanges, Counter, "{token}", "Access tokens that were requested for backends on behalf of callers, by outcome: ok (the issuer issued one), cached, refused (the issuer refused), unavailable (the issuer did not answer), impossible (the caller has no token that can be exchanged)", []attribute.Key{AttrBackend, AttrOutcome}},
	{IdentityStale, Gauge, "{file}", "1 while the file with the key that signs for backends cannot be used and the previous key stays in use, else 0", nil},
	{Ready, Gauge, "{replica}", "1 while this replica takes traffic, as /readyz reports, else 0", nil},
	{BackendUp, Gauge, "{backend}", "1 while the backend is connected and its lists are read, else 0", []attribute.Key{AttrBackend}},
	{BackendInState, Gauge, "{backend}", "1 for the state that the backend is in, else 0", []attribute.Key{AttrBackend, AttrBackendState}},
	{BackendCalls, Gauge, "{call}", "Calls that the backend is running", []attribute.Key{AttrBackend}},
	{BackendWatches, Gauge, "{watch}", "Resources that the backend is watching", []attribute.Key{AttrBackend}},
	{BackendProblems, Gauge, "{problem}", "Breaches of the contract in what the backend serves, lists that cannot be read, and tools and prompts that are hidden because the catalog cannot change their arguments as it should, tools that differ from catalog-lock, and entries of the catalog and of sets that restrict nothing because nothing has their exact name", []attribute.Key{AttrBackend}},
	{CatalogEntries, Gauge, "{entry}", "Entries of the backend's lists", []attribute.Key{AttrBackend, AttrKind}},
	{CatalogAge, Gauge, "s", "Time since all lists of the backend were read", []attribute.Key{AttrBackend}},
	{TLSExpiry, Gauge, "s", "Time until the certificates of TLS in use expire, negative afterwards: of a chain the first that expires, of several CAs the last", []attribute.Key{AttrTLS, AttrTLSFile}},
	{TLSStale, Gauge, "{end}", "1 while the files of TLS cannot be used and those read before stay in use, else 0", []attribute.Key{AttrTLS}},
	{TLSExchanges, Counter, "{exchange}", "How often changed files of TLS were put in use", []attribute.Key{AttrTLS}},
}

// named returns the instrument of the catalogue with a name.
func named(name string) (Instrument, bool) {
	for _, i := range Catalogue {
		if i.Name == name {
			return i, true
		}
	}
	return Instrument{}, false
}
