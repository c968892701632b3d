package telemetry

import (
	"context"
	"encoding/json"

	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// AppendMetadata appends what of the trace context goes on to a backend as gRPC metadata, as keys and
// values: the operation's own, in the place of the client's, since the edge is between the two and a backend must know
// what is not sampled; while tracing is off, what the client sent, as far as it is well-formed and bounded.
// The client's baggage goes on in any case. A sampled call's own span replaces the first two in turn.
func (t *Telemetry) AppendMetadata(dst []string, ctx context.Context, m *mcp.Meta) []string {
	if t.Tracing() {
		if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
			dst = append(dst, mcp.MetaTraceParent, FormatParent(sc))
			if state := sc.TraceState(); state.Len() > 0 {
				dst = append(dst, mcp.MetaTraceState, state.String())
			}
			return pass(dst, m.Baggage, mcp.MetaBaggage, maxBaggage)
		}
	}
	if m.TraceParent == nil && m.Baggage == nil {
		return dst
	}
	if text, _ := jsonrpc.Unquote(m.TraceParent); ParseParent(text).IsValid() {
		dst = append(dst, mcp.MetaTraceParent, text)
		dst = pass(dst, m.TraceState, mcp.MetaTraceState, maxTraceState)
	}
	return pass(dst, m.Baggage, mcp.MetaBaggage, maxBaggage)
}

func pass(dst []string, raw json.RawMessage, key string, most int) []string {
	text, _ := jsonrpc.Unquote(raw)
	if text == "" || len(text) > most {
		return dst
	}
	for i := range len(text) {
		if text[i] < 0x20 || text[i] > 0x7e {
			return dst
		}
	}
	return append(dst, key, text)
}
