package app

import (
	"context"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/config"
)

// clearOTel removes OTEL_… variables from the test's environment.
func clearOTel(t *testing.T) {
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "OTEL_") {
			t.Setenv(name, "")
			os.Unsetenv(name)
		}
	}
}

// The page shows every call with its content. Exported spans have content only if configured.
func TestDevTelemetry(t *testing.T) {
	for name, c := range map[string]struct {
		dev, content bool
		env          map[string]string
		tracing      bool
		wantContent  bool
		// unsampled: a call whose client wants no spans has some.
		unsampled bool
	}{
		"off":                     {},
		"dev":                     {dev: true, tracing: true, wantContent: true, unsampled: true},
		"dev and a collector":     {dev: true, env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, tracing: true, unsampled: true},
		"dev, collector, content": {dev: true, content: true, env: map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, tracing: true, wantContent: true, unsampled: true},
		"a sampler is respected":  {dev: true, env: map[string]string{"OTEL_TRACES_SAMPLER": "parentbased_always_on"}, tracing: true, wantContent: true},
	} {
		t.Run(name, func(t *testing.T) {
			clearOTel(t)
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			cfg := config.Default()
			cfg.Admin.Dev, cfg.Telemetry.TraceContent = c.dev, c.content
			store := DevStore(cfg, nil)
			if (store != nil) != c.dev {
				t.Fatalf("there is a store: %v", store != nil)
			}
			tel, err := Telemetry(cfg, slog.New(slog.NewTextHandler(io.Discard, nil)), store, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				ctx, cancel := context.WithCancel(context.Background())
				cancel() // there is no collector
				_ = tel.Shutdown(ctx)
			}()
			if tel.Tracing() != c.tracing || tel.Content() != c.wantContent {
				t.Errorf("tracing %v, content %v", tel.Tracing(), tel.Content())
			}
			parent := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, Remote: true})
			_, span := tel.TracerProvider().Tracer("x").Start(trace.ContextWithRemoteSpanContext(context.Background(), parent), "x")
			if span.IsRecording() != c.unsampled {
				t.Errorf("a call that its client does not sample is recorded: %v", span.IsRecording())
			}
		})
	}
}
