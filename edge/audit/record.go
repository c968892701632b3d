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

// Event is the kind of a record.
type Event string

// Events.
const (
	// EventDecision records an authorization decision.
	EventDecision Event = "decision"
	// EventOutcome records the end of a request.
	EventOutcome Event = "outcome"
)

// Effect is the result of a decision.
type Effect string

// Effects.
const (
	// Allow allows the request.
	Allow Effect = "allow"
	// Deny denies the request.
	Deny Effect = "deny"
	// Hide answers the request as if its target did not exist.
	Hide Effect = "hide"
	// StepUp denies the request because its credentials lack scopes.
	StepUp Effect = "step_up"
	// Wait makes the call wait for an approval.
	Wait Effect = "wait"
)

// By is the component that decided.
type By string

// Components that decide.
const (
	// ByAuthentication marks refused credentials. The rule is the reason, as in the metric
	// mcpedge.auth.refused. Accepted credentials are not recorded.
	ByAuthentication By = "authentication"
	// ByOwnership marks a refused request for a session or connection of another principal, and an
	// allowed request about a task by its creator, who needs no permission by the policy.
	ByOwnership By = "ownership"
	// ByPolicy marks a decision by the rules and scopes of the policy.
	ByPolicy By = "policy"
	// ByExternal marks a decision by the policy server. The rule is one of denied, omitted (the
	// params could not all be sent) and failed (the server did not respond, and the effect is the
	// setting on-failure). Allowed requests are not recorded, except for those about a task.
	ByExternal By = "external"
	// ByConfirmation marks the refusal of a call because the user did not confirm it, or could not
	// be asked. The rule is the name of the confirmation.
	ByConfirmation By = "confirmation"
	// ByApproval marks a call that waits for the approval of another person, or is refused without
	// it. The rule is the name of the approval.
	ByApproval By = "approval"
	// BySet marks the refusal of a caller that may not use a set. The rule is the name of the set.
	BySet By = "set"
	// ByHook marks a request or result that a hook did not pass. The rule is the name of the hook
	// that denied or failed, or else of the first hook that replaced something, or would have.
	// Record.Hooks has the decisions of all hooks.
	ByHook By = "hook"
	// ByQuota marks a decision by the quotas.
	ByQuota By = "quota"
	// ByOperator marks an action on the admin address: the end of a session, the cancellation of a
	// task, an approval, a change of a log level, a rollback of the settings, a drain, and disabling
	// and enabling an object. With the rule disabled it marks the refusal of a request for a
	// disabled object.
	ByOperator By = "operator"
)

// Who identifies a caller. Unknown members are empty.
type Who struct {
	Issuer, Subject, Client string
	// SubjectIsClient means that Subject is the id of a client that acts for itself.
	SubjectIsClient bool
	// TokenID is that of mcp.Principal.
	TokenID string
	// Session is the digest of the session id: see telemetry.SessionPrint.
	Session string
}

// WhoOf returns the Who of a principal, without a session.
func WhoOf(p *mcp.Principal) Who {
	return Who{Issuer: p.Issuer, Subject: p.Subject, SubjectIsClient: p.SubjectIsClient, Client: p.Client, TokenID: p.TokenID}
}

// Verdict is a decision.
type Verdict struct {
	Effect Effect
	By     By
	// Rule is the name of the rule that decided. It is empty if none applied.
	Rule string
	// Failed means that the request was denied because the rule's condition could not be evaluated.
	Failed bool
	// Missing are the scopes that the credentials lack.
	Missing []string
	// Confirmed lists the confirmations of an allowed call of a tool.
	Confirmed []mcp.Confirmed
	// Approved lists the approvals of an allowed call of a tool.
	Approved []mcp.Approved
}

// Record is one line of the audit. It must not be modified after it was passed to a Log, nor may
// anything that it refers to.
type Record struct {
	Time  time.Time
	Event Event
	Who   Who
	// Settings is the shortened digest of the settings in force. It is empty without a settings
	// file.
	Settings string
	// Listener is the listener at which credentials were refused: mcp or admin. Address is the
	// network address of the client, as trusted proxies report it, for refused credentials and
	// outcomes. Both are empty if unknown.
	Listener, Address string
	// Call is the id of the call. It is equal in all records of the call, and empty for other
	// requests.
	Call string
	// Task is the digest of the id of the call's task (see telemetry.SessionPrint), or empty. It is
	// in two outcomes: those of the request and of the task.
	Task string
	// Round is the number of the call's round, from 1. 0 means that the request is not a call.
	// Attempt is the number of the attempt at the round: 0 or 1 is the first one, and each loss of a
	// replica adds one.
	Round, Attempt int
	// Set is the name of the set of the request's endpoint. Empty means the root.
	Set string
	// Method, Target and Backend describe the request. Unknown ones are empty. Shown is the name
	// that the client used, if the catalog shows the target under another name.
	Method, Target, Shown, Backend string
	// Via is the edge's own tool with which the client called Target, or empty.
	Via string
	// Reason is the operator's reason for an action, or empty.
	Reason string
	// Approval is the id of the approval that the decision of an operator names, or empty.
	Approval string
	// Awaited is the call whose approval an operator gives or refuses, or nil.
	Awaited *Awaited
	Verdict Verdict
	// Would lists what settings in audit mode would have done with the request, as far as it was
	// known at the time of the record.
	Would []mcp.Trial
	// Outcome is the result, as in the access log. Code is the code of the JSON-RPC error, or 0.
	Outcome string
	Code    int
	// Hooks are the decisions of the hooks in their order, in a record with ByHook.
	Hooks []Hook
	// Duration is the time from the receipt of the request to its end, including questions to the
	// user.
	Duration time.Duration
	Trace    trace.SpanContext
	// Arguments are compact JSON. ArgumentsDigest is their HMAC-SHA-256 in hexadecimal. At most one
	// of them is set.
	Arguments       json.RawMessage
	ArgumentsDigest string
	// SentArguments and SentArgumentsDigest are those of the client's own arguments, if the catalog
	// adds some. Otherwise they are empty.
	SentArguments       json.RawMessage
	SentArgumentsDigest string
}

// CallArguments are the arguments of a call whose decision is recorded. A Log does not retain them.
type CallArguments struct {
	// Effective are the arguments that the backend reads, or nil.
	Effective json.RawMessage
	// Sent are the client's own arguments, if the catalog added some. nil means that they equal
	// Effective.
	Sent json.RawMessage
}

// overhead estimates the size of a record without its strings, in bytes.
const overhead = 512

// size estimates the memory of the record, in bytes.
func (r *Record) size() int {
	n := overhead + len(r.Who.Issuer) + len(r.Who.Subject) + len(r.Who.Client) + len(r.Target) + len(r.Reason) + len(r.Approval) + len(r.Arguments) + r.Awaited.size()
	for i := range r.Hooks {
		n += len(r.Hooks[i].Name) + len(r.Hooks[i].Reason) + 64
	}
	for _, s := range r.Verdict.Missing {
		n += len(s) + 16
	}
	for _, c := range r.Verdict.Confirmed {
		n += len(c.Name) + len(c.How) + 32
	}
	for _, a := range r.Verdict.Approved {
		n += len(a.Name) + len(a.By.Issuer) + len(a.By.Subject) + len(a.By.Client) + 64
	}
	for _, w := range r.Would {
		n += len(w.Effect) + len(w.By) + len(w.Rule) + 48
	}
	return n
}

// appendLine appends the record as a line of JSON. It omits empty members and escapes control
// characters.
func (r *Record) appendLine(dst []byte, replica string) []byte {
	start := len(dst)
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
	member := func(key string, value []byte) {
		if len(value) > 0 {
			dst = append(append(append(append(dst, `,"`...), key...), `":`...), value...)
		}
	}
	text("event", string(r.Event))
	text("replica", replica)
	text("settings", r.Settings)
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
	text("set", r.Set)
	text("method", r.Method)
	text("target", r.Target)
	text("shown", r.Shown)
	text("via", r.Via)
	text("backend", r.Backend)
	text("reason", r.Reason)
	text("approval", r.Approval)
	member("awaited", r.Awaited.encode())
	text("decision", string(r.Verdict.Effect))
	text("by", string(r.Verdict.By))
	text("rule", r.Verdict.Rule)
	if r.Verdict.Failed {
		dst = append(dst, `,"rule_failed":true`...)
	}
	dst = appendMissing(dst, r.Verdict.Missing)
	member("confirmed", confirmed(r.Verdict.Confirmed))
	member("approved", approved(r.Verdict.Approved))
	dst = appendWould(dst, r.Would)
	dst = appendHooks(dst, r.Hooks)
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
	text("sent_arguments_hmac_sha256", r.SentArgumentsDigest)
	member("arguments", r.Arguments)
	member("sent_arguments", r.SentArguments)
	dst = append(dst, "}\n"...)
	return append(dst[:start], mcp.EscapeControls(dst[start:])...)
}

// appendMissing appends the member missing_scopes, unless there are no scopes.
func appendMissing(dst []byte, scopes []string) []byte {
	if len(scopes) == 0 {
		return dst
	}
	dst = append(dst, `,"missing_scopes":[`...)
	for i, s := range scopes {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonrpc.AppendString(dst, s)
	}
	return append(dst, ']')
}

// confirmed returns confirmations as JSON, or nil if there are none.
func confirmed(all []mcp.Confirmed) []byte {
	if len(all) == 0 {
		return nil
	}
	dst := []byte{'['}
	for i, c := range all {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonrpc.AppendString(append(dst, `{"name":`...), c.Name)
		dst = append(jsonrpc.AppendString(append(dst, `,"how":`...), c.How), '}')
	}
	return append(dst, ']')
}

// approved returns approvals as JSON, or nil if there are none.
func approved(all []mcp.Approved) []byte {
	if len(all) == 0 {
		return nil
	}
	dst := []byte{'['}
	for i, a := range all {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonrpc.AppendString(append(dst, `{"name":`...), a.Name)
		dst = jsonrpc.AppendString(append(dst, `,"by":{"issuer":`...), a.By.Issuer)
		dst = jsonrpc.AppendString(append(dst, `,"subject":`...), a.By.Subject)
		if a.By.Client != "" {
			dst = jsonrpc.AppendString(append(dst, `,"client_id":`...), a.By.Client)
		}
		dst = append(dst, "}}"...)
	}
	return append(dst, ']')
}

// appendWould appends the member would, unless there are no trials.
func appendWould(dst []byte, would []mcp.Trial) []byte {
	if len(would) == 0 {
		return dst
	}
	dst = append(dst, `,"would":`...)
	return append(dst, trials(would)...)
}

// trials returns trials as JSON.
func trials(would []mcp.Trial) []byte {
	dst := []byte{'['}
	for i, w := range would {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonrpc.AppendString(append(dst, `{"effect":`...), w.Effect)
		dst = jsonrpc.AppendString(append(dst, `,"by":`...), w.By)
		dst = append(jsonrpc.AppendString(append(dst, `,"rule":`...), w.Rule), '}')
	}
	return append(dst, ']')
}
