package telemetry

import (
	"context"
	"math/rand/v2"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Promise is the context of a span for a request that is being sent to the client and ends, who knows
// when and on which replica, with Sent. Its parent is the operation. Not valid while tracing is off.
func (op *Operation) Promise() trace.SpanContext {
	parent := op.SpanContext()
	if !parent.IsValid() {
		return parent
	}
	var id trace.SpanID
	for !id.IsValid() {
		fill(id[:], rand.Uint64())
	}
	return parent.WithSpanID(id)
}

// Sent is a request that was sent to the client.
type Sent struct {
	Method mcp.Method
	// ID of the request.
	ID string
	// Promise is the span that the request named; Parent the span of the round that asked.
	Promise, Parent trace.SpanContext
	// At is when it was sent.
	At      time.Time
	Version string
	Session string
	Pipe    bool
	// Code and Message of the error that the client answered with; 0: a result.
	Code    int
	Message string
}

// Answered records a request to the client whose answer has come: its span and its duration.
func (t *Telemetry) Answered(s *Sent) {
	if t == nil || s.At.IsZero() {
		return
	}
	key := series{method: knownMethod(s.Method), version: s.Version, pipe: s.Pipe, code: s.Code}
	if s.Code != 0 {
		key.failure = strconv.Itoa(s.Code)
	}
	t.client.record(context.Background(), key, time.Since(s.At), series.attributes)
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
		if s.Code != 0 {
			span.SetStatus(codes.Error, s.Message)
		}
	}
	span.End()
}

// Stored makes a span for an operation on the durable state that began some time ago and is over. Its
// parent is an operation's span; without one, or without a database, there is none.
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

// Promised is the span that a request to the client named, as WithTrace put it there.
func Promised(message []byte) trace.SpanContext {
	params, _ := jsonrpc.Member(message, "params")
	meta, _ := jsonrpc.Member(params, "_meta")
	parent, _ := jsonrpc.Member(meta, mcp.MetaTraceParent)
	text, _ := jsonrpc.Unquote(parent)
	return ParseParent(text)
}

// Step is a span for something that is no message: a stream that is resumed, a call that is looked for.
// What it follows is linked. While tracing is off it does nothing. end is called once.
func (t *Telemetry) Step(ctx context.Context, name string, parent, before trace.SpanContext, why Reason, attrs ...attribute.KeyValue) (_ context.Context, end func(error)) {
	if !t.Tracing() {
		return ctx, func(error) {}
	}
	ctx, span := t.tracer.Start(trace.ContextWithSpanContext(ctx, parent), name, internalKind...)
	link(span, before, why)
	span.SetAttributes(attrs...)
	return ctx, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, err.Error())
		}
		span.End()
	}
}

// HeaderParent is the trace that an HTTP request is in; for what is no message.
func HeaderParent(h mcp.Header) trace.SpanContext { return headerParent(h) }
