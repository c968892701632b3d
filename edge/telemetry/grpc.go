package telemetry

import (
	"context"
	"encoding/json"

	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// AppendMetadata appends the trace context for a backend to dst, as keys and values of gRPC
// metadata. With tracing on, that is the operation's own context in place of the client's, because
// the edge is between the two and a backend must know what is not sampled. With tracing off, it is
// what the client sent, if it is well-formed and bounded. The client's baggage is always passed on.
// A sampled call's own span replaces the first two in turn.
func (t *Telemetry) AppendMetadata(dst []string, ctx context.Context, m *mcp.Meta) []string {
	sent := m.More()
	if t.Tracing() {
		if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
			dst = append(dst, mcp.MetaTraceParent, FormatParent(sc))
			if state := sc.TraceState(); state.Len() > 0 {
				dst = append(dst, mcp.MetaTraceState, state.String())
			}
			return pass(dst, sent.Baggage, mcp.MetaBaggage, maxBaggage)
		}
	}
	if sent.TraceParent == nil && sent.Baggage == nil {
		return dst
	}
	if text, _ := jsonrpc.Unquote(sent.TraceParent); ParseParent(text).IsValid() {
		dst = append(dst, mcp.MetaTraceParent, text)
		dst = pass(dst, sent.TraceState, mcp.MetaTraceState, maxTraceState)
	}
	return pass(dst, sent.Baggage, mcp.MetaBaggage, maxBaggage)
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
