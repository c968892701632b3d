package audit

import (
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Event is what a record is about.
type Event string

// The events.
const (
	// EventDecision: somebody may or may not do something.
	EventDecision Event = "decision"
	// EventOutcome: a request has ended.
	EventOutcome Event = "outcome"
)

// Effect is what was decided.
type Effect string

// The effects.
const (
	// Allow: it may be done.
	Allow Effect = "allow"
	// Deny: it may not.
	Deny Effect = "deny"
	// Hide: it may not, and the caller is not told that it exists.
	Hide Effect = "hide"
	// StepUp: it takes scopes that the credentials lack.
	StepUp Effect = "step_up"
)

// By is who decided.
type By string

// Who decides.
const (
	// ByAuthentication: whether the credentials are accepted. The rule is the reason, as the metric
	// mcpedge.auth.refused has it. What is accepted is not recorded by itself.
	ByAuthentication By = "authentication"
	// ByOwnership: whether a session or a connection is the caller's, of which only what is not is recorded; and what the creator of a
	// task may do with it whatever the policy says.
	ByOwnership By = "ownership"
	// ByPolicy: the rules and scopes of the policy.
	ByPolicy By = "policy"
	// ByExternal: the policy server. The rule is denied, omitted where it could not be shown all, or failed where it did not decide; then what the setting on-failure says
	// is the effect. That it allowed something is not recorded by itself.
	ByExternal By = "external"
	// ByQuota: the quotas.
	ByQuota By = "quota"
	// ByOperator: an operator, on the admin address: the end of a session, a task's cancellation, a level of the log, a drain.
	ByOperator By = "operator"
)

// Who is the caller. Members that are not known are empty.
type Who struct {
	Issuer, Subject, Client string
	// SubjectIsClient: Subject is the id of a client that acts for itself.
	SubjectIsClient bool
	// TokenID is the SHA-256 of the token's id, the claim jti, in hexadecimal.
	TokenID string
	// Session is what telemetry.SessionPrint makes of the id.
	Session string
}

// WhoOf is a caller, without its session.
func WhoOf(p *mcp.Principal) Who {
	return Who{Issuer: p.Issuer, Subject: p.Subject, SubjectIsClient: p.SubjectIsClient, Client: p.Client, TokenID: p.TokenID}
}

// Verdict is what was decided, by whom, and by which of its rules.
type Verdict struct {
	Effect Effect
	By     By
	// Rule is its name; empty: none was about it.
	Rule string
	// Missing are the scopes that the credentials lack.
	Missing []string
}

// Record is one line. It is not changed once it is made, and nothing in it belongs to somebody else.
type Record struct {
	Time  time.Time
	Event Event
	Who   Who
	// Listener is where credentials were refused: mcp or admin. Address is the network address they came from, as trusted proxies say it.
	Listener, Address string
	// Call is the id of the call, the same in all its records; empty: it is none.
	Call string
	// Task is what telemetry.SessionPrint makes of the id of the task that the call became; empty: it became none. Two outcomes have it:
	// that of the request, and that of the task.
	Task string
	// Round is which of the call's; 0: it is none. Attempt is which run of the round, of which there is another for each
	// replica that was lost with it; at most 1: the first.
	Round, Attempt int
	// Method, Target and Backend say what was asked for, of whom; each may be unknown.
	Method, Target, Backend string
	Verdict                 Verdict
	// Outcome is how it ended, as the line of a request in the log has it, and Code the JSON-RPC error's; 0: there is none.
	Outcome string
	Code    int
	// Duration is from the request's receipt to its end, the time of whoever was asked included.
	Duration time.Duration
	Trace    trace.SpanContext
	// Arguments are compact JSON, and ArgumentsDigest the HMAC-SHA-256 of that in hexadecimal; at most one is there.
	Arguments       json.RawMessage
	ArgumentsDigest string
}

// overhead is about what a record takes beside its texts, in bytes.
const overhead = 512

// size is about what a record takes, in bytes.
func (r *Record) size() int {
	n := overhead + len(r.Who.Issuer) + len(r.Who.Subject) + len(r.Who.Client) + len(r.Target) + len(r.Arguments)
	for _, s := range r.Verdict.Missing {
		n += len(s) + 16
	}
	return n
}

// appendLine appends the record as a line of JSON. Members without a value are left out.
func (r *Record) appendLine(dst []byte, replica string) []byte {
	dst = append(dst, `{"time":"`...)
	dst = r.Time.UTC().AppendFormat(dst, time.RFC3339Nano)
	dst = append(dst, '"')
	text := func(key, value string) {
		if value != "" {
			dst = append(append(append(dst, `,"`...), key...), `":`...)
			dst = jsonrpc.AppendString(dst, value)
		}
	}
	number := func(key string, value int) {
		if value != 0 {
			dst = append(append(append(dst, `,"`...), key...), `":`...)
			dst = strconv.AppendInt(dst, int64(value), 10)
		}
	}
	text("event", string(r.Event))
	text("replica", replica)
	text("issuer", r.Who.Issuer)
	text("subject", r.Who.Subject)
	if r.Who.SubjectIsClient {
		dst = append(dst, `,"subject_is_client":true`...)
	}
	text("client_id", r.Who.Client)
	text("jti_sha256", r.Who.TokenID)
	text("session", r.Who.Session)
	text("listener", r.Listener)
	text("address", r.Address)
	text("call", r.Call)
	text("task", r.Task)
	number("round", r.Round)
	if r.Attempt > 1 {
		number("attempt", r.Attempt)
	}
	text("method", r.Method)
	text("target", r.Target)
	text("backend", r.Backend)
	text("decision", string(r.Verdict.Effect))
	text("by", string(r.Verdict.By))
	text("rule", r.Verdict.Rule)
	if len(r.Verdict.Missing) > 0 {
		dst = append(dst, `,"missing_scopes":[`...)
		for i, s := range r.Verdict.Missing {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = jsonrpc.AppendString(dst, s)
		}
		dst = append(dst, ']')
	}
	text("outcome", r.Outcome)
	number("code", r.Code)
	if r.Event == EventOutcome {
		dst = append(dst, `,"duration":`...)
		dst = strconv.AppendFloat(dst, r.Duration.Seconds(), 'f', 6, 64)
	}
	if r.Trace.IsValid() {
		id := r.Trace.TraceID()
		dst = append(dst, `,"trace_id":"`...)
		dst = hex.AppendEncode(dst, id[:])
		dst = append(dst, '"')
	}
	text("arguments_hmac_sha256", r.ArgumentsDigest)
	if len(r.Arguments) > 0 {
		dst = append(append(dst, `,"arguments":`...), r.Arguments...)
	}
	return append(dst, "}\n"...)
}
