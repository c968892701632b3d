package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
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

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// hiding is a Redaction of the text secret, while it is on.
func hiding(on *bool) Redaction {
	return func() func(string) string {
		if !*on {
			return nil
		}
		return func(text string) string { return strings.NewReplacer("secret", "***", "4111", "***").Replace(text) }
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
			"list", []string{"secret6"}, "struct", struct{ A string }{"secret7"}, slog.Group("in", "x", "secret8"), "n", 7, "m", 4111, "f", 4111.0, "address", netip.MustParseAddr("::1"))
		if got := out.String(); strings.Contains(got, "secret") || strings.Count(got, "***") != 10 || !strings.Contains(got, `"n":7`) || !strings.Contains(got, `"::1"`) {
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
	span.SetAttributes(attribute.String("a", "secret"), attribute.StringSlice("b", []string{"x", "secret"}), attribute.Int("c", 1), attribute.Int("n", 4111))
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
	if got.Attributes[3].Value.AsString() != "***" {
		t.Error("a number that is a secret is exported")
	}
	if got.Attributes[2].Value.AsInt64() != 1 {
		t.Error("a number was changed")
	}
}

// TestRedactedBeforeCut: what is cut was redacted before, so that no half of a secret is left.
func TestRedactedBeforeCut(t *testing.T) {
	on := true
	exported := tracetest.NewInMemoryExporter()
	var out bytes.Buffer
	tm := newTelemetry(t, Options{
		Logger: RedactedLog(slog.New(NewHandler(&out, true, slog.LevelInfo, "")), hiding(&on)), Redact: hiding(&on),
		SpanProcessors: []sdktrace.SpanProcessor{sdktrace.NewSimpleSpanProcessor(exported)},
	})
	long := strings.Repeat("x", maxCause-3) + "secret"
	var params mcp.Params
	if err := params.Parse(mcp.MethodResourcesRead, json.RawMessage(`{"uri":"x://`+long[len(long)-maxURI+1:]+`"}`), nil); err != nil {
		t.Fatal(err)
	}
	_, op := tm.Begin(context.Background(), &Request{Method: mcp.MethodResourcesRead, ID: jsonrpc.IntID(1), Params: &params})
	op.End(&Outcome{Kind: mcp.KindInternal, Cause: errors.New(long), Reason: long})
	tm.access.flush()
	for _, a := range exported.GetSpans()[0].Attributes {
		if a.Key == AttrResourceURI && !strings.HasSuffix(a.Value.AsString(), "x***") {
			t.Errorf("the span has the URI %q", a.Value.AsString())
		}
	}
	if got := out.String(); strings.Contains(got, "xsec") || strings.Count(got, `x***"`) != 3 {
		t.Errorf("logged %s", got)
	}
}
