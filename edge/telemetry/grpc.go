package telemetry

import (
	"context"
	"encoding/json"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// DialOptions make a connection to a backend part of the edge's traces; none while tracing is off.
func (t *Telemetry) DialOptions() []grpc.DialOption {
	if !t.Tracing() {
		return nil
	}
	return []grpc.DialOption{grpc.WithStatsHandler(otelgrpc.NewClientHandler(
		otelgrpc.WithTracerProvider(t.traces), otelgrpc.WithMeterProvider(noopmetric.NewMeterProvider()),
		otelgrpc.WithPropagators(propagation.TraceContext{})))}
}

// Traced says whether a call belongs to a sampled operation.
func (t *Telemetry) Traced(ctx context.Context) bool { return trace.SpanFromContext(ctx).IsRecording() }

// Metadata is what of the trace context goes on to a backend as gRPC metadata, as keys and values: the
// operation's own, in the place of the client's, since the edge is between the two and a backend must know
// what is not sampled; while tracing is off, what the client sent, as far as it is well-formed and bounded.
// The client's baggage goes on in any case. A sampled call's own span replaces the first two in turn.
func (t *Telemetry) Metadata(ctx context.Context, m *mcp.Meta) (pairs []string) {
	if t.Tracing() {
		if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
			pairs = append(make([]string, 0, 6), mcp.MetaTraceParent, FormatParent(sc))
			if state := sc.TraceState(); state.Len() > 0 {
				pairs = append(pairs, mcp.MetaTraceState, state.String())
			}
			return pass(pairs, m.Baggage, mcp.MetaBaggage, maxBaggage)
		}
	}
	if m.TraceParent == nil && m.Baggage == nil {
		return nil
	}
	if text, _ := jsonrpc.Unquote(m.TraceParent); ParseParent(text).IsValid() {
		pairs = append(pairs, mcp.MetaTraceParent, text)
		pairs = pass(pairs, m.TraceState, mcp.MetaTraceState, maxTraceState)
	}
	return pass(pairs, m.Baggage, mcp.MetaBaggage, maxBaggage)
}

func pass(pairs []string, raw json.RawMessage, key string, most int) []string {
	text, _ := jsonrpc.Unquote(raw)
	if text == "" || len(text) > most {
		return pairs
	}
	for i := range len(text) {
		if text[i] < 0x20 || text[i] > 0x7e {
			return pairs
		}
	}
	return append(pairs, key, text)
}
