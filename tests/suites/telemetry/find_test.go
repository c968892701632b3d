//go:build jaeger

package telemetry

import (
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// spansOf are the spans of a name and kind, in the order of their beginnings.
func spansOf(spans tracetest.SpanStubs, name string, kind trace.SpanKind) (out tracetest.SpanStubs) {
	for _, s := range spans {
		if s.Name == name && s.SpanKind == kind {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	return out
}

// only is the one span of a name and kind.
func only(t *testing.T, spans tracetest.SpanStubs, name string, kind trace.SpanKind) tracetest.SpanStub {
	t.Helper()
	found := spansOf(spans, name, kind)
	if len(found) != 1 {
		t.Fatalf("%d %s spans are named %q, want 1:\n%s", len(found), kind, name, tree(spans))
	}
	return found[0]
}

// linked is the span that one of a trace's spans is linked to for a reason; none if there are several such links.
func linked(spans tracetest.SpanStubs, why telemetry.Reason) (to trace.SpanID) {
	for _, s := range spans {
		for _, l := range s.Links {
			if slices.Contains(l.Attributes, telemetry.AttrReason.String(string(why))) {
				if to.IsValid() {
					return trace.SpanID{}
				}
				to = l.SpanContext.SpanID()
			}
		}
	}
	return to
}

// value is a span's attribute as a text; "": it has none.
func value(s tracetest.SpanStub, key attribute.Key) string {
	for _, kv := range s.Attributes {
		if kv.Key == key {
			return kv.Value.String()
		}
	}
	return ""
}
