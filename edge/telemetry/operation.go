package telemetry

import (
	"context"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Request is what is known of a request or notification when it begins.
type Request struct {
	Method mcp.Method
	// ID is zero for a notification.
	ID jsonrpc.ID
	// Params may be nil: then nothing is known of the trace the client is in.
	Params *mcp.Params
	// Backend is that which ran the request before; empty: none did, or Found tells it.
	Backend string
	// Principal is the verified caller, and Call the id of the call; empty: it is none.
	Principal mcp.Principal
	Call      string
	// Version is the negotiated revision; empty: not known.
	Version string
	// Session is what SessionPrint makes of the id; empty: none.
	Session string
	// Client is the name that ClientName found.
	Client string
	// Header of the HTTP request; nil: there is none.
	Header mcp.Header
	// Pipe: the client is at the other end of a pipe, not of HTTP.
	Pipe bool
	// Round and Attempt of a call; 0: no call.
	Round, Attempt int
	// Began is when the request was received, if that was not now: zero: now.
	Began time.Time
	// Origin is the span of the request's first run, on whatever replica. The operation goes on with its
	// trace as a part of the same request, unless the client names a trace of its own in Params.
	Origin trace.SpanContext
	// Before is the span that this one follows, and Reason why.
	Before trace.SpanContext
	Reason Reason
	// Internal: no message was received for it; it goes on with one that was.
	Internal bool
}

// Outcome is how an operation ended.
type Outcome struct {
	Kind mcp.Kind
	// Code and Message of the JSON-RPC error, for a Kind other than KindNone.
	Code    int
	Message string
	// Cause is what is behind Message and not told to clients; nil: nothing. It is in the line.
	Cause error
	// ToolError: the result says isError.
	ToolError bool
	// InputRequired: the round ended with questions.
	InputRequired bool
	// Task is the id of the task that the request was answered with; empty: it was not. How that ends is told by TaskEnded.
	Task string
	// Lost: another replica goes on with the request.
	Lost bool
	// Backend is the one that ran the request. Empty if none did, or if it is known already.
	Backend string
	// Result is recorded where content is.
	Result []byte
}

// String is ok, tool_error, input_required, task, or the name of the kind.
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

// failure is the error.type and the JSON-RPC code.
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

// Operation is one request or notification that the edge serves. The zero Operation observes nothing.
// It is used by one goroutine at a time.
type Operation struct {
	t           *Telemetry // nil: ended, or not observed
	start       time.Time
	spanContext trace.SpanContext // not valid: tracing is off
	span        trace.Span        // nil: not sampled
	series      series
	target      string // with its own name, of the span
	asked       string // what the request names, for the line; it may not exist
	task        string // the print of the id of the task that the request names, for the line
	subject     string // of the principal; empty for an anonymous one
	client      *client
	clientName  string
	session     string
	backend     string
	id          jsonrpc.ID
	audited     *Audited // nil: it is not
}

// Begin begins an operation. The context carries its span, where there is one: what the edge does on its
// behalf is done with it.
func (t *Telemetry) Begin(ctx context.Context, r *Request) (context.Context, Operation) {
	if t == nil {
		return ctx, Operation{}
	}
	op := Operation{
		t: t, start: r.Began, clientName: r.Client, session: r.Session, backend: r.Backend, id: r.ID,
		series: series{method: knownMethod(r.Method), version: r.Version, pipe: r.Pipe},
	}
	if op.start.IsZero() {
		op.start = time.Now()
	}
	op.subject = r.Principal.Subject
	switch {
	case r.Params == nil:
	case aboutTask(r.Method): // its id gives access to its result
		op.task = SessionPrint(r.Params.Target)
	default:
		op.asked = cut(targetOf(r.Params), maxAsked)
	}
	if r.Backend != "" {
		op.know(r.Params, r.Backend)
	}
	op.client = t.clients.named(r.Client)
	if t.tracer != nil {
		ctx = op.trace(ctx, r)
	}
	if t.auditor != nil && !r.ID.IsZero() && auditedMethod(r.Method) {
		ctx = op.audit(ctx, r)
	}
	return ctx, op
}

// Found says which backend the request belongs to, once it was resolved; empty: none is known. known: what params name is a tool or prompt
// that it has.
func (op *Operation) Found(params *mcp.Params, backend string, known bool) {
	if op.t == nil || backend == "" {
		return
	}
	op.backend = backend
	if op.audited != nil {
		op.audited.Backend = backend
	}
	if known && op.target == "" {
		op.know(params, backend)
	}
	if op.span == nil {
		return
	}
	op.span.SetAttributes(AttrBackend.String(backend))
	if op.target != "" {
		op.named()
		op.span.SetAttributes(series{method: op.series.method, target: op.target}.about()...)
	}
}

// know has what params name told apart in spans and metrics: a tool or prompt of a backend.
func (op *Operation) know(params *mcp.Params, backend string) {
	switch op.series.method {
	case mcp.MethodToolsCall, mcp.MethodPromptsGet:
		if params != nil {
			op.target = params.Target
			op.series.target = op.t.targets.bounded(target{backend, op.series.method, op.target})
		}
	}
}

// Pause ends the span of an operation that goes on elsewhere or later, as another one with Began and
// Origin; its duration is recorded by the last one.
func (op *Operation) Pause(o *Outcome) {
	if op.t == nil {
		return
	}
	op.endSpan(o, "")
	op.t = nil
}

// End ends the operation: its span, its duration and its line. Only the first call counts.
func (op *Operation) End(o *Outcome) { op.end(o, true) }

// EndOpen ends an operation that succeeded and stays open for as long as the client likes: its duration
// says nothing, and is not recorded.
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

// SpanContext is the operation's span; not valid while tracing is off.
func (op *Operation) SpanContext() trace.SpanContext { return op.spanContext }

// Began is when the operation's request was received.
func (op *Operation) Began() time.Time { return op.start }

// context gives a sampled operation's measurements the span as their exemplar.
func (op *Operation) context() context.Context {
	if op.span == nil {
		return context.Background()
	}
	return trace.ContextWithSpan(context.Background(), op.span)
}
