package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Auditor keeps records of who did what. Safe for concurrent use.
type Auditor interface {
	// Ended records how a request ended that names something: once, by whoever ended it. It does not block. outcome is
	// that of Outcome.String, code the JSON-RPC error's; 0: there is none.
	Ended(a *Audited, outcome string, code int, took time.Duration)
	// Foreign records that a caller named a session or connection that is another's. An error, a *mcp.Error, is the
	// request's answer then.
	Foreign(ctx context.Context, who *mcp.Principal, a *Audited) error
}

// Audited is a request that an Auditor has to know of.
type Audited struct {
	Principal mcp.Principal
	// Session is what SessionPrint makes of the id, and Call the call's id; empty: there is none.
	Session, Call string
	// Task is what SessionPrint makes of the id of the task that the request became, or is about, or that has ended; empty: there is none.
	Task   string
	Round  int
	Method mcp.Method
	// Target is what is named, Backend who serves it, as far as that is known.
	Target, Backend string
	// Trace is the operation's span, or the trace that the request belongs to.
	Trace trace.SpanContext
}

// Audit has an Auditor know of all operations from now on. Call it before the first one.
func (t *Telemetry) Audit(a Auditor) {
	if t != nil {
		t.auditor = a
	}
}

// auditedMethod says whether a method names something that somebody may be denied.
func auditedMethod(m mcp.Method) bool {
	switch m {
	case mcp.MethodToolsCall, mcp.MethodPromptsGet, mcp.MethodResourcesRead, mcp.MethodComplete,
		mcp.MethodSkillsGet, mcp.MethodDirectoryRead,
		mcp.MethodSubscribe, mcp.MethodUnsubscribe, mcp.MethodListen:
		return true
	}
	return aboutTask(m)
}

// aboutTask says whether a method names a task.
func aboutTask(m mcp.Method) bool {
	switch m {
	case mcp.MethodTasksGet, mcp.MethodTasksUpdate, mcp.MethodTasksCancel, mcp.MethodTasksResult:
		return true
	}
	return false
}

// TaskEnded tells the Auditor how a task has ended, whose id, not its print, is in a: once, by whoever ended it. took is since its creation.
func (t *Telemetry) TaskEnded(a Audited, o *Outcome, took time.Duration) {
	if t == nil || t.auditor == nil {
		return
	}
	a.Target, a.Task = cut(a.Target, maxTarget), SessionPrint(a.Task)
	t.auditor.Ended(&a, o.String(), o.Code, took)
}

type auditedKey struct{}

// AuditedRequest is what is known of the request that is served with the context; nil: it is none that is audited.
func AuditedRequest(ctx context.Context) *Audited {
	a, _ := ctx.Value(auditedKey{}).(*Audited)
	return a
}

// audit remembers the operation's request for the Auditor.
func (op *Operation) audit(ctx context.Context, r *Request) context.Context {
	a := &Audited{Principal: r.Principal, Session: r.Session, Call: r.Call, Round: r.Round, Method: r.Method, Backend: r.Backend}
	switch {
	case r.Params == nil:
	case aboutTask(r.Method): // Its id is no name; who decides says which tool it is of.
		a.Task = SessionPrint(r.Params.Target)
	default:
		a.Target = cut(r.Params.Target, maxTarget)
	}
	if a.Trace = op.spanContext; !a.Trace.IsValid() {
		a.Trace = originOf(r)
	}
	op.audited = a
	return context.WithValue(ctx, auditedKey{}, a)
}

// maxTarget bounds what a client named, in bytes.
const maxTarget = 1 << 10

// originOf is the trace that a request belongs to while the edge makes no spans.
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

// TraceOf is the trace that the headers of an HTTP request name.
func TraceOf(h mcp.Header) trace.SpanContext { return headerParent(h) }

// Foreign records that a caller named a session or connection that is another's, by its id. An error, a *mcp.Error, is the
// request's answer; nil: it is answered as if there were none of the name.
func (t *Telemetry) Foreign(ctx context.Context, in *mcp.Incoming, id string) error {
	if t == nil || t.auditor == nil {
		return nil
	}
	return t.auditor.Foreign(ctx, &in.Principal, &Audited{Session: SessionPrint(id), Trace: headerParent(in.Header)})
}
