package telemetry

import (
	"bytes"
	"context"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// trace starts the operation's span. Its parent is the context in `_meta`, else the request's first
// span, else the HTTP request's span, which is otherwise linked.
func (op *Operation) trace(ctx context.Context, r *Request) context.Context {
	var meta *mcp.Meta
	if r.Params != nil && !r.Internal {
		meta = &r.Params.Meta
	}
	parent, ofCarrier := metaParent(meta), false
	if !parent.IsValid() {
		parent = r.Origin
	}
	if !parent.IsValid() {
		parent, ofCarrier = headerParent(r.Header), true
	}
	kind, began := trace.SpanKindServer, r.Began
	if r.Internal {
		kind, began = trace.SpanKindInternal, time.Time{} // the earlier run has its own span
	}
	ctx, op.span, op.spanContext = op.t.begin(ctx, parent, string(op.series.method), kind, began)
	if op.span == nil {
		return ctx
	}
	if !ofCarrier {
		link(op.span, headerParent(r.Header), ReasonHTTP)
	}
	link(op.span, r.Before, r.Reason)
	op.span.SetAttributes(op.attributes(r)...)
	op.decided(r.Params)
	return ctx
}

// decided adds to the span the name that the client used and, with content, the arguments that it sent
// and those that the backend gets. params may be nil.
func (op *Operation) decided(params *mcp.Params) {
	if op.span == nil || params == nil {
		return
	}
	if op.shown != "" {
		op.span.SetAttributes(AttrShown.String(op.shown))
	}
	if !op.t.content || op.series.method != mcp.MethodToolsCall {
		return
	}
	op.span.SetAttributes(AttrArguments.String(string(params.Sent.Arguments)))
	if !bytes.Equal(params.Arguments, params.Sent.Arguments) {
		op.span.SetAttributes(AttrEffective.String(string(params.Arguments)))
	}
}

func link(span trace.Span, to trace.SpanContext, why Reason) {
	if to.IsValid() {
		span.AddLink(trace.Link{SpanContext: to, Attributes: []attribute.KeyValue{AttrReason.String(string(why))}})
	}
}

// nameSpan names the span after the tool or prompt in the request.
func (op *Operation) nameSpan() { op.span.SetName(string(op.series.method) + " " + op.target) }

func (op *Operation) attributes(r *Request) []attribute.KeyValue {
	if op.target != "" {
		op.nameSpan()
	}
	about := op.series
	about.target = op.target
	out := about.attributes()
	if !r.ID.IsZero() {
		out = append(out, AttrRequestID.String(r.ID.String()))
	}
	if r.Session != "" {
		out = append(out, AttrSession.String(r.Session))
	}
	if r.Backend != "" {
		out = append(out, AttrBackend.String(r.Backend))
	}
	if r.Client != "" {
		out = append(out, AttrClient.String(r.Client))
	}
	if r.Round > 0 {
		out = append(out, AttrRound.Int(r.Round), AttrAttempt.Int(r.Attempt))
	}
	return append(out, op.uriOf(r.Method, r.Params)...)
}

// uriOf returns the attribute with the URI in the params, which may be nil, of a method that names one.
func (op *Operation) uriOf(method mcp.Method, params *mcp.Params) []attribute.KeyValue {
	switch method {
	case mcp.MethodResourcesRead, mcp.MethodSubscribe, mcp.MethodUnsubscribe, mcp.MethodSkillsGet, mcp.MethodDirectoryRead:
		if params != nil && params.HasTarget {
			return []attribute.KeyValue{AttrResourceURI.String(cutRedacted(params.Target, maxURI, op.t.redaction))}
		}
	}
	return nil
}

// CalledBackend sets the backend in an operation's span.
func (t *Telemetry) CalledBackend(ctx context.Context, name string) {
	if !t.Tracing() {
		return
	}
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.SetAttributes(AttrBackend.String(name))
	}
}

// Event records in an operation's span that the call sent its client a message, with its progress
// but without its text.
func (t *Telemetry) Event(ctx context.Context, ev *mcp.Event) {
	if !t.Tracing() {
		return
	}
	span := trace.SpanFromContext(ctx)
	switch {
	case !span.IsRecording():
	case ev.Method == mcp.NotifyProgress:
		span.AddEvent(string(ev.Method), trace.WithAttributes(AttrProgress.Float64(ev.Progress)))
	default:
		span.AddEvent(string(ev.Method))
	}
}

// maxURI bounds a URI that a client sent, in bytes.
const maxURI = 256

// cutRedacted bounds a text, in which it replaces secrets first if it is too long.
func cutRedacted(s string, most int, by Redaction) string {
	if len(s) <= most {
		return s
	}
	if replace := by.now(); replace != nil {
		s = replace(s)
	}
	return cut(s, most)
}

func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return s[:most]
}

// description returns the description of a failed span: the JSON-RPC error's message, except for
// the kind whose message repeats what the client sent.
func (op *Operation) description(o *Outcome) string {
	if o.Kind == mcp.KindInvalidParams && !op.t.content {
		return o.Kind.String()
	}
	return o.Message
}

func (op *Operation) endSpan(o *Outcome, failure string) {
	if op.span == nil {
		return
	}
	op.span.SetAttributes(AttrOutcome.String(o.String()))
	if failure != "" {
		op.span.SetAttributes(AttrErrorType.String(failure))
		op.span.SetStatus(codes.Error, op.description(o))
	}
	if o.Code != 0 {
		op.span.SetAttributes(AttrStatusCode.String(strconv.Itoa(o.Code)))
	}
	if op.t.content && o.Result != nil && op.series.method == mcp.MethodToolsCall {
		op.span.SetAttributes(AttrResult.String(string(o.Result)))
	}
	op.span.End()
}
