package telemetry

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Auditor records which principal did what. It is safe for concurrent use.
type Auditor interface {
	// Ended records the end of a request that names something. It is called once, by the code that
	// ended the request, and does not block. outcome is as by Outcome.String, code the JSON-RPC
	// error's; 0 means none.
	Ended(a *Audited, outcome string, code int, took time.Duration)
	// Foreign records that a caller named a session or connection of another principal. An error,
	// which is a *mcp.Error, becomes the response to the request.
	Foreign(ctx context.Context, who *mcp.Principal, a *Audited) error
}

// Audited is a request that is audited.
type Audited struct {
	Principal mcp.Principal
	// From is the client's address. The zero Addr means unknown.
	From netip.Addr
	// Session is the SessionPrint of the session id, and Call the call's id. Empty means none.
	Session, Call string
	// Task is the SessionPrint of the id of the task that the request created, that it is about, or
	// that has ended. Empty means none.
	Task string
	// Attempt is that of Round; 0 and 1 are the first. A task that has ended has the attempt of its
	// last round, and no Round.
	Round, Attempt int
	// Set is the set in which it was made. Empty means the root.
	Set    string
	Method mcp.Method
	// Target is the canonical name of the target, or the requested one if that is unknown. Shown is
	// the requested name if it is another one. Backend is the backend that serves it, if known.
	Target, Shown, Backend string
	// Via is the tool of the edge through which the client made the request, or empty.
	Via string
	// Trace is the operation's span, or the trace that the request belongs to.
	Trace trace.SpanContext

	mu sync.Mutex
	// would are trials, see Telemetry.RecordTrial, without repetitions.
	would []mcp.Trial
}

// Audit sets the Auditor of all operations. Call it before the first one.
func (t *Telemetry) Audit(a Auditor) {
	if t != nil {
		t.auditor = a
	}
}

// auditedMethod reports whether access to what the method names may be denied.
func auditedMethod(m mcp.Method) bool {
	switch m {
	case mcp.MethodToolsCall, mcp.MethodPromptsGet, mcp.MethodResourcesRead, mcp.MethodComplete,
		mcp.MethodSkillsGet, mcp.MethodDirectoryRead,
		mcp.MethodSubscribe, mcp.MethodUnsubscribe, mcp.MethodListen:
		return true
	}
	return aboutTask(m)
}

// aboutTask reports whether a method names a task.
func aboutTask(m mcp.Method) bool {
	switch m {
	case mcp.MethodTasksGet, mcp.MethodTasksUpdate, mcp.MethodTasksCancel, mcp.MethodTasksResult:
		return true
	}
	return false
}

// TaskEnded logs the end of a task and reports it to the Auditor, once, by the code that ended it.
// a has the task's id, not its print, and is changed. took is the time since its creation.
func (t *Telemetry) TaskEnded(a *Audited, o *Outcome, took time.Duration) {
	if t == nil {
		return
	}
	a.Target, a.Task = cut(a.Target, maxTarget), SessionPrint(a.Task)
	t.access.task(t, a, o, took)
	if t.auditor != nil {
		t.auditor.Ended(a, o.String(), o.Code, took)
	}
}

type auditedKey struct{}

// AuditedRequest returns the audited request that is served with the context, or nil.
func AuditedRequest(ctx context.Context) *Audited {
	a, _ := ctx.Value(auditedKey{}).(*Audited)
	return a
}

// audit prepares the operation's request for the Auditor.
func (op *Operation) audit(ctx context.Context, r *Request) context.Context {
	a := &Audited{Principal: r.Principal, From: r.From, Session: r.Session, Call: r.Call, Round: r.Round, Attempt: r.Attempt, Set: r.Set, Method: r.Method, Backend: r.Backend}
	switch {
	case r.Params == nil:
	case aboutTask(r.Method): // A task id is not a name; the tool is found when access is decided.
		a.Task = SessionPrint(r.Params.Target)
	default:
		a.name(r.Params)
	}
	if a.Trace = op.spanContext; !a.Trace.IsValid() {
		a.Trace = originOf(r)
	}
	op.audited = a
	return context.WithValue(ctx, auditedKey{}, a)
}

// name sets the names of what params name.
func (a *Audited) name(params *mcp.Params) {
	if a.Target == "" || params.Shown() != "" || params.Wrapped != nil {
		a.Target, a.Shown, a.Via = cut(params.Target, maxTarget), cut(params.Shown(), maxTarget), params.Via()
	}
}

// maxTarget bounds a name that a client sent, in bytes.
const maxTarget = 1 << 10

// originOf returns the trace that a request belongs to while the edge makes no spans.
func originOf(r *Request) trace.SpanContext {
	if r.Params != nil {
		if parent := metaParent(&r.Params.Meta); parent.IsValid() {
			return parent
		}
	}
	if r.Origin.IsValid() {
		return r.Origin
	}
	return headerParent(r.Header)
}

// TraceOf returns the trace in the headers of an HTTP request.
func TraceOf(h mcp.Header) trace.SpanContext { return headerParent(h) }

// Foreign records that a caller named a session or connection of another principal, by its id. An
// error, which is a *mcp.Error, becomes the response to the request; after nil the response is as
// for an unknown id.
func (t *Telemetry) Foreign(ctx context.Context, in *mcp.Incoming, id string) error {
	if t == nil || t.auditor == nil {
		return nil
	}
	return t.auditor.Foreign(ctx, &in.Principal, &Audited{Session: SessionPrint(id), Trace: headerParent(in.Header)})
}
