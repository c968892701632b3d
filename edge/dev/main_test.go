package dev

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/mcpedge/mcpedge/edge/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tracer returns a tracer of a scope that records into a store.
func tracer(t *testing.T, s *Store, service, scope string) trace.Tracer {
	t.Helper()
	p := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", service))))
	return p.Tracer(scope)
}

// at returns a fixed time plus some milliseconds.
func at(ms int) trace.SpanEventOption {
	return trace.WithTimestamp(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(ms) * time.Millisecond))
}

// operation begins the span of a round as telemetry does.
func operation(ctx context.Context, tr trace.Tracer, tool string, round int, began trace.SpanEventOption, links ...trace.Link) (context.Context, trace.Span) {
	ctx, span := tr.Start(ctx, "tools/call "+tool, trace.WithSpanKind(trace.SpanKindServer), began, trace.WithLinks(links...))
	span.SetAttributes(telemetry.AttrMethod.String("tools/call"), telemetry.AttrToolName.String(tool), telemetry.AttrRound.Int(round))
	return ctx, span
}

func because(why telemetry.Reason, to trace.Span) trace.Link {
	return trace.Link{SpanContext: to.SpanContext(), Attributes: []attribute.KeyValue{telemetry.AttrReason.String(string(why))}}
}

func outcome(s string) attribute.KeyValue { return telemetry.AttrOutcome.String(s) }

// loopback is the handler's list of hosts.
var loopback = []string{"localhost", "127.0.0.1", "::1"}

func serve(t *testing.T, s *Store) *httptest.Server { return serveTasks(t, s, nil) }

func serveTasks(t *testing.T, s *Store, from Tasks) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(Handler(s, from, "here", loopback, nil))
	t.Cleanup(server.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return server
}

// fetch gets the JSON of a path and fails unless the status is the expected one.
func fetch(t *testing.T, server *httptest.Server, path string, status int, into any) {
	t.Helper()
	resp, err := server.Client().Get(server.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status {
		t.Fatalf("%s: status %s, %s (%v); want %d", path, resp.Status, body, err, status)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(body, into); err != nil {
		t.Fatalf("%s: %v in %s", path, err, body)
	}
}
