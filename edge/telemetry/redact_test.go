package telemetry

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// hiding is a Redaction of the text secret, while it is on.
func hiding(on *bool) Redaction {
	return func() func(string) string {
		if !*on {
			return nil
		}
		return func(text string) string { return strings.ReplaceAll(text, "secret", "***") }
	}
}

func TestRedactedLog(t *testing.T) {
	for name, handler := range map[string]func(*bytes.Buffer) slog.Handler{
		"of this package": func(b *bytes.Buffer) slog.Handler { return NewHandler(b, true, slog.LevelInfo, "here") },
		"another":         func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
	} {
		var out bytes.Buffer
		on := true
		log := RedactedLog(slog.New(handler(&out)), hiding(&on))
		log = RedactedLog(log, hiding(&on)) // A second time changes nothing.
		log.With("added", "secret1").WithGroup("g").Info("secret2", "text", "secret3", "error", errors.New("secret4"), "bytes", []byte("secret5"),
			"list", []string{"secret6"}, "struct", struct{ A string }{"secret7"}, slog.Group("in", "x", "secret8"), "n", 7, "address", netip.MustParseAddr("::1"))
		if got := out.String(); strings.Contains(got, "secret") || strings.Count(got, "***") != 8 || !strings.Contains(got, `"n":7`) || !strings.Contains(got, `"::1"`) {
			t.Errorf("%s: %s", name, got)
		}
		out.Reset()
		on = false
		if log.Info("a secret"); !strings.Contains(out.String(), "a secret") {
			t.Errorf("%s: redacted without a redaction: %s", name, out.String())
		}
	}
}

func TestRedactedSpans(t *testing.T) {
	on := true
	exported := tracetest.NewInMemoryExporter()
	traces := sdktrace.NewTracerProvider(sdktrace.WithSyncer(&redacting{exported, hiding(&on)}))
	_, span := traces.Tracer("t").Start(context.Background(), "name secret")
	span.SetAttributes(attribute.String("a", "secret"), attribute.StringSlice("b", []string{"x", "secret"}), attribute.Int("c", 1))
	span.AddEvent("secret event", trace.WithAttributes(attribute.String("d", "secret")))
	span.AddLink(trace.Link{SpanContext: span.SpanContext(), Attributes: []attribute.KeyValue{attribute.String("e", "secret")}})
	span.SetStatus(codes.Error, "it is secret")
	span.End()
	got := exported.GetSpans()[0]
	texts := []string{got.Name, got.Attributes[0].Value.AsString(), got.Attributes[1].Value.AsStringSlice()[1], got.Events[0].Name,
		got.Events[0].Attributes[0].Value.AsString(), got.Links[0].Attributes[0].Value.AsString(), got.Status.Description}
	for _, text := range texts {
		if strings.Contains(text, "secret") || !strings.Contains(text, "***") {
			t.Errorf("exported %q", text)
		}
	}
	if got.Attributes[2].Value.AsInt64() != 1 {
		t.Error("a number was changed")
	}
}
