//go:build !race

// Under the race detector pools forget a part of what they are given: the one of slog and that of the histogram.

package telemetry

import (
	"context"
	"io"
	"log/slog"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// With tracing off and no log nothing is allocated for a call.
func TestNothingIsAllocatedWithoutTracing(t *testing.T) {
	for name, lookup := range map[string]func(string) (string, bool){
		"default":  nil,
		"disabled": func(k string) (string, bool) { return "true", k == "OTEL_SDK_DISABLED" },
	} {
		tel := newTelemetry(t, Options{Lookup: lookup})
		if n := testing.AllocsPerRun(1000, func() { call(context.Background(), tel) }); n != 0 {
			t.Errorf("%s: %v allocations, want none", name, n)
		}
	}
	if n := testing.AllocsPerRun(1000, func() { call(context.Background(), nil) }); n != 0 {
		t.Errorf("nil: %v allocations, want none", n)
	}
}

// The line of a request costs a bounded number of allocations, an unsampled span too.
func TestAllocationsAreBounded(t *testing.T) {
	logged := newTelemetry(t, Options{Logger: slog.New(NewHandler(io.Discard, false, slog.LevelInfo, ""))})
	if n := testing.AllocsPerRun(1000, func() { call(context.Background(), logged) }); n > 2 {
		t.Errorf("logged: %v allocations, want at most 2", n)
	}
	unsampled := newTelemetry(t, Options{
		SpanProcessors: []sdktrace.SpanProcessor{sdktrace.NewSimpleSpanProcessor(tracetest.NewNoopExporter())},
		Sampler:        sdktrace.NeverSample(),
	})
	if n := testing.AllocsPerRun(1000, func() { call(context.Background(), unsampled) }); n > 6 {
		t.Errorf("not sampled: %v allocations, want at most 6", n)
	}
	following := newTelemetry(t, Options{
		SpanProcessors: []sdktrace.SpanProcessor{sdktrace.NewSimpleSpanProcessor(tracetest.NewNoopExporter())},
	})
	if n := testing.AllocsPerRun(1000, func() { callOf(context.Background(), following, &tracedParams) }); n > 7 {
		t.Errorf("not sampled by the client: %v allocations, want at most 7", n)
	}
}
