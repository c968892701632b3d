package telemetry

import (
	"context"
	"net/netip"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Request describes a request or notification when it begins.
type Request struct {
	Method mcp.Method
	// ID is zero for a notification.
	ID jsonrpc.ID
	// Params may be nil; then the trace of the client is unknown.
	Params *mcp.Params
	// Backend is the backend that ran the request before. Empty means none, or that Found will set
	// it.
	Backend string
	// Principal is the verified caller, and Call the id of the call. Empty means no call.
	Principal mcp.Principal
	Call      string
	// From is the client's address, as trusted proxies report it. The zero Addr means unknown.
	From netip.Addr
	// Set is the name of the set whose endpoint the request uses, always a configured set. Empty means the root.
	Set string
	// Version is the negotiated revision. Empty means unknown.
	Version string
	// Session is the SessionPrint of the session id. Empty means none.
	Session string
	// Client is the name from ClientName.
	Client string
	// Header is the header of the HTTP request, or nil.
	Header mcp.Header
	// Pipe is whether the client is connected by a pipe instead of HTTP.
	Pipe bool
	// Round and Attempt are those of a call. 0 means no call.
	Round, Attempt int
	// Began is when the request was received. Zero means now.
	Began time.Time
	// Origin is the span of the request's first run, on any replica. The operation continues its
	// trace as part of the same request, unless the client names a trace in Params.
	Origin trace.SpanContext
	// Before is the span that this one follows, and Reason is why.
	Before trace.SpanContext
	Reason Reason
	// Internal is whether the operation continues an earlier message, instead of serving one that
	// was received for it.
	Internal bool
}

// Outcome is how an operation ended.
type Outcome struct {
	Kind mcp.Kind
	// Code and Message are those of the JSON-RPC error, for a Kind other than KindNone.
	Code    int
	Message string
	// Cause is the cause of the error, which clients are not sent but which is logged. It may be
	// nil.
	Cause error
	// Reason is that of the mcp.Error.
	Reason string
	// ToolError is whether the result says isError.
	ToolError bool
	// InputRequired is whether the round ended with questions.
	InputRequired bool
	// Task is the id of the task that the request was answered with. Empty means none. TaskEnded
	// reports the end of the task.
	Task string
	// Lost is whether another replica continues the request.
	Lost bool
	// Backend is the backend that ran the request. Empty means none, or that it is known already.
	Backend string
	// Result is recorded if content is.
	Result []byte
}

// String returns ok, tool_error, input_required, task, or the name of the kind.
func (o *Outcome) String() string {
	switch {
	case o.Kind != mcp.KindNone:
		return o.Kind.String()
	case o.ToolError:
		return toolError
	case o.InputRequired:
		return inputRequired
	case o.Task != "":
		return madeTask
	case o.Lost:
		return lostOutcome
	}
	return mcp.KindNone.String()
}

const (
	toolError     = "tool_error"
	inputRequired = "input_required"
	madeTask      = "task"
	lostOutcome   = "lost"
)

// failure returns the error.type and the JSON-RPC code.
func (o *Outcome) failure() (string, int) {
	switch {
	case o.Kind != mcp.KindNone && o.Code != 0:
		return strconv.Itoa(o.Code), o.Code // small numbers are not allocated, these are rare
	case o.Kind != mcp.KindNone:
		return o.Kind.String(), 0
	case o.ToolError:
		return toolError, 0
	}
	return "", 0
}

// Operation is one request or notification that the edge serves. The zero Operation observes
// nothing. It is not safe for concurrent use.
type Operation struct {
	t           *Telemetry // nil if ended or not observed
	start       time.Time
	spanContext trace.SpanContext // invalid while tracing is off
	span        trace.Span        // nil if not sampled
	series      series
	target      string // the span's name includes it
	asked       string // the canonical name, for the line; it may not exist
	shown       string // the name in the request where it is another one
	via         string // the edge's own tool through which the request was made
	task        string // print of the task id in the request, for the line
	subject     string // of the principal; empty for an anonymous one
	from        netip.Addr
	client      *client
	clientName  string
	session     string
	call        string
	backend     string
	id          jsonrpc.ID
	audited     *Audited // nil if not audited
}

// Begin begins an operation. The returned context has its span, if there is one; use it for all
// work of the operation.
func (t *Telemetry) Begin(ctx context.Context, r *Request) (context.Context, Operation) {
	if t == nil {
		return ctx, Operation{}
	}
	op := Operation{
		t: t, start: r.Began, clientName: r.Client, session: r.Session, call: r.Call, backend: r.Backend, id: r.ID,
		series: series{method: knownMethod(r.Method), version: r.Version, set: r.Set, pipe: r.Pipe},
	}
	if op.start.IsZero() {
		op.start = time.Now()
	}
	op.subject, op.from = r.Principal.Subject, r.From
	switch {
	case r.Params == nil:
	case aboutTask(r.Method): // its id gives access to its result
		op.task = SessionPrint(r.Params.Target)
	default:
		op.asked, op.shown = t.access.name(targetOf(r.Params)), t.access.name(r.Params.Shown())
		op.via = r.Params.Via()
	}
	if r.Backend != "" {
		op.setTarget(r.Params, r.Backend)
	}
	op.client = t.clients.named(r.Client, &r.Principal)
	if t.tracer != nil {
		ctx = op.trace(ctx, r)
	}
	if t.auditor != nil && !r.ID.IsZero() && auditedMethod(r.Method) {
		ctx = op.audit(ctx, r)
	}
	return ctx, op
}

// Found sets the backend of the request once it is resolved; empty means unknown. method is that of the request that was made through a
// tool of the edge, if any. known is whether params name a tool or prompt of that backend.
func (op *Operation) Found(method mcp.Method, params *mcp.Params, backend string, known bool) {
	if op.t == nil {
		return
	}
	if params.Shown() != "" || params.Wrapped != nil {
		op.unwrapped(method, params)
		op.asked, op.shown, op.via = op.t.access.name(params.Target), op.t.access.name(params.Shown()), params.Via()
		if op.audited != nil {
			op.audited.name(params)
		}
	}
	op.decided(params)
	if backend == "" {
		return
	}
	op.backend = backend
	if op.audited != nil {
		op.audited.Backend = backend
		op.audited.name(params)
	}
	if known && op.target == "" {
		op.setTarget(params, backend)
	}
	if op.span == nil {
		return
	}
	op.span.SetAttributes(AttrBackend.String(backend))
	if op.target != "" {
		op.nameSpan()
		op.span.SetAttributes(series{method: op.series.method, target: op.target}.about()...)
	}
}

// unwrapped makes the operation one of the request that was made through a tool of the edge.
func (op *Operation) unwrapped(method mcp.Method, params *mcp.Params) {
	if method = knownMethod(method); method == op.series.method {
		return
	}
	op.series.method = method
	if op.audited != nil {
		op.audited.Method = method
	}
	if op.span != nil {
		op.span.SetName(string(method))
		op.span.SetAttributes(AttrMethod.String(string(method)))
		op.span.SetAttributes(op.uriOf(method, params)...)
	}
}

// setTarget makes the tool or prompt that params name part of spans and metrics.
func (op *Operation) setTarget(params *mcp.Params, backend string) {
	switch op.series.method {
	case mcp.MethodToolsCall, mcp.MethodPromptsGet:
		if params != nil {
			op.target = params.Target
			op.series.target = op.t.targets.bounded(target{backend, op.series.method, mcp.Shown(op.target, maxAsked)})
		}
	}
}

// Pause ends the span of an operation that continues elsewhere or later, as another one with Began
// and Origin; the last one records the duration.
func (op *Operation) Pause(o *Outcome) {
	if op.t == nil {
		return
	}
	op.endSpan(o, "")
	op.t = nil
}

// End ends the operation: its span, its duration and its line. Only the first call has an effect.
func (op *Operation) End(o *Outcome) { op.end(o, true) }

// EndOpen ends an operation that succeeded and that its client held open. It does not record the
// duration, which has no meaning.
func (op *Operation) EndOpen(o *Outcome) { op.end(o, false) }

func (op *Operation) end(o *Outcome, duration bool) {
	t := op.t
	if t == nil {
		return
	}
	took := time.Since(op.start)
	failure, code := o.failure()
	op.series.failure, op.series.code = failure, code
	if duration {
		t.server.record(op.context(), op.series, took)
	}
	op.client.count(failure != "")
	t.access.line(t, op, o, took)
	if op.audited != nil {
		if o.Task != "" {
			op.audited.Task = SessionPrint(o.Task)
		}
		t.auditor.Ended(op.audited, o.String(), o.Code, took)
	}
	op.endSpan(o, failure)
	op.t = nil
}

// SpanContext returns the operation's span context, which is invalid while tracing is off.
func (op *Operation) SpanContext() trace.SpanContext { return op.spanContext }

// Began returns when the operation's request was received.
func (op *Operation) Began() time.Time { return op.start }

// context returns a context with the span of a sampled operation, as the exemplar of its
// measurements.
func (op *Operation) context() context.Context {
	if op.span == nil {
		return context.Background()
	}
	return trace.ContextWithSpan(context.Background(), op.span)
}
