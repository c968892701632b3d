package telemetry

import (
	"context"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Promise returns the context of a span for a request to the client. Sent ends the span later,
// possibly on another replica. Its parent is the operation. It is invalid while tracing is off.
func (op *Operation) Promise() trace.SpanContext {
	parent := op.SpanContext()
	if !parent.IsValid() {
		return parent
	}
	return parent.WithSpanID(newSpanID())
}

// Sent is a request that was sent to the client.
type Sent struct {
	Method mcp.Method
	// ID of the request.
	ID string
	// Promise is the span that the request named, Parent the span of the round that asked.
	Promise, Parent trace.SpanContext
	// At is when it was sent.
	At      time.Time
	Version string
	Session string
	Pipe    bool
	// Failed is whether the client answered with an error, of this Code and Message.
	Failed  bool
	Code    int
	Message string
}

// otherFailure is the error.type of an error with a code of the client's own: each would be a
// series.
const otherFailure = "_OTHER"

// failure returns the error.type of an answer and the code for its series; 0 means none.
func (s *Sent) failure() (string, int) {
	switch s.Code {
	case -1, -32700, -32600, -32601, -32602, -32603: // -1: the user refused (Sampling, "Error Handling")
		return strconv.Itoa(s.Code), s.Code
	}
	return otherFailure, 0
}

// Answered records a request to the client that was answered: its span and its duration.
func (t *Telemetry) Answered(s *Sent) {
	if t == nil || s.At.IsZero() {
		return
	}
	key := series{method: knownMethod(s.Method), version: s.Version, pipe: s.Pipe}
	if s.Failed {
		key.failure, key.code = s.failure()
	}
	t.client.record(context.Background(), key, time.Since(s.At))
	if t.tracer == nil || !s.Promise.IsValid() || !s.Parent.IsValid() {
		return
	}
	ctx := promise(trace.ContextWithRemoteSpanContext(context.Background(), s.Parent), s.Promise.SpanID())
	_, span := t.tracer.Start(ctx, string(key.method), trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(s.At))
	if span.IsRecording() {
		attrs := append(key.attributes(), AttrRequestID.String(s.ID))
		if s.Session != "" {
			attrs = append(attrs, AttrSession.String(s.Session))
		}
		span.SetAttributes(attrs...)
		if s.Failed {
			span.SetAttributes(AttrStatusCode.String(strconv.Itoa(s.Code)))
			span.SetStatus(codes.Error, s.Message)
		}
	}
	span.End()
}

// Stored makes a span for an operation on the durable state that has ended. Its parent is an
// operation's span; without a parent or a database, Stored makes none.
func (t *Telemetry) Stored(parent trace.SpanContext, what string, began time.Time, err error) {
	if !t.Tracing() || t.system == "" || !parent.IsSampled() {
		return
	}
	_, span := t.tracer.Start(trace.ContextWithSpanContext(context.Background(), parent), "state."+what,
		trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(began),
		trace.WithAttributes(AttrSystem.String(t.system), AttrCommand.String(what)))
	if err != nil {
		span.SetAttributes(AttrErrorType.String("error"))
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}

// Promised returns the span that a request to the client names, as set by WithTrace.
func Promised(message []byte) trace.SpanContext {
	params, _ := jsonrpc.Member(message, "params")
	meta, _ := jsonrpc.Member(params, "_meta")
	parent, _ := jsonrpc.Member(meta, mcp.MetaTraceParent)
	text, _ := jsonrpc.Unquote(parent)
	return ParseParent(text)
}

// Resumed makes a span for a stream that a client resumed, until all that was there was sent. It is
// linked to the stream's call, and joins its trace unless the HTTP request has its own.
func (t *Telemetry) Resumed(h mcp.Header, call trace.SpanContext, session string, replayed int, began time.Time) {
	if !t.Tracing() {
		return
	}
	parent := headerParent(h)
	if !parent.IsValid() {
		parent = call
	}
	_, span := t.tracer.Start(trace.ContextWithSpanContext(context.Background(), parent), resumeSpan,
		trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(began))
	if span.IsRecording() {
		link(span, call, ReasonResumed)
		span.SetAttributes(transport(h == nil)...)
		span.SetAttributes(AttrSession.String(session), AttrReplayed.Int(replayed), AttrReplica.String(t.replica))
	}
	span.End()
}

// resumeSpan is the name of the edge's only span that is not for a message.
const resumeSpan = "stream resume"
