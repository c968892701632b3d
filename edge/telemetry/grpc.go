package telemetry

import (
	"context"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
)

// DialOptions make the edge's connections to backends part of its traces; none while tracing is off.
func (t *Telemetry) DialOptions() []grpc.DialOption {
	if !t.Tracing() {
		return nil
	}
	traced := otelgrpc.NewClientHandler(
		otelgrpc.WithTracerProvider(t.traces), otelgrpc.WithMeterProvider(noopmetric.NewMeterProvider()),
		otelgrpc.WithPropagators(propagation.TraceContext{}))
	return []grpc.DialOption{grpc.WithStatsHandler(sampledOnly{traced})}
}

// sampledOnly traces the calls that belong to a sampled operation. Those of one that is not sampled only
// tell the backend so; those that belong to none, such as the edge's own lists and watches, tell nothing.
type sampledOnly struct{ stats.Handler }

// unsampledKey marks the context of a call that is not traced.
type unsampledKey struct{}

// TagRPC implements stats.Handler.
func (h sampledOnly) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	span := trace.SpanFromContext(ctx)
	if span.IsRecording() {
		return h.Handler.TagRPC(ctx, info)
	}
	if sc := span.SpanContext(); sc.IsValid() {
		// What the client sent gives way: the edge is between it and the backend.
		md, ok := metadata.FromOutgoingContext(ctx)
		if !ok {
			md = metadata.MD{}
		}
		md.Set("traceparent", FormatParent(sc))
		if state := sc.TraceState(); state.Len() > 0 {
			md.Set("tracestate", state.String())
		}
		ctx = metadata.NewOutgoingContext(ctx, md)
	}
	return context.WithValue(ctx, unsampledKey{}, true)
}

// HandleRPC implements stats.Handler.
func (h sampledOnly) HandleRPC(ctx context.Context, s stats.RPCStats) {
	if ctx.Value(unsampledKey{}) == nil {
		h.Handler.HandleRPC(ctx, s)
	}
}
