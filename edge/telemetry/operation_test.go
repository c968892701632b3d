package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

func newTelemetry(t testing.TB, o Options) *Telemetry {
	t.Helper()
	tel, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tel.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return tel
}

var (
	callParams = paramsOf(`{"name":"echo"}`)
	// tracedParams are of a client that wants no span.
	tracedParams = paramsOf(`{"name":"echo","_meta":{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"}}`)
	callInfo     = json.RawMessage(`{"name":"bench","version":"1"}`)
	callID       = jsonrpc.IntID(7)
	callAddress  = netip.MustParseAddr("192.0.2.7")
)

// paramsOf returns the params of a tools/call.
func paramsOf(raw string) mcp.Params {
	var p mcp.Params
	if err := p.Parse(mcp.MethodToolsCall, json.RawMessage(raw), nil); err != nil {
		panic(err)
	}
	return p
}

// call is one call as an era observes it.
func call(ctx context.Context, t *Telemetry) {
	callOf(ctx, t, &callParams)
}

func callOf(ctx context.Context, t *Telemetry, params *mcp.Params) {
	_, op := t.Begin(ctx, &Request{
		Method: mcp.MethodToolsCall, ID: callID, Params: params,
		Version: "some version", Session: "0123", Client: t.ClientName(callInfo), Round: 1, Attempt: 1,
		Call: "QAY3ZKPTUXQ2WYFMXYZ3DCHS2E", From: callAddress,
	})
	op.Found(mcp.MethodToolsCall, params, "b", true)
	t.BackendCalled(ctx, "b", mcp.MethodToolsCall, &Outcome{}, 1)
	op.End(&Outcome{})
}

// requestContext is as deep as that of an HTTP request is: none of it knows of spans.
func requestContext() context.Context {
	type key int
	ctx := context.Background()
	for i := range 6 {
		ctx = context.WithValue(ctx, key(i), i)
	}
	return ctx
}

func BenchmarkCall(b *testing.B) {
	spans := []sdktrace.SpanProcessor{sdktrace.NewBatchSpanProcessor(tracetest.NewNoopExporter())}
	for _, c := range []struct {
		name   string
		o      *Options
		params *mcp.Params
	}{
		{"nil", nil, &callParams},
		{"disabled", &Options{Lookup: func(k string) (string, bool) { return "true", k == "OTEL_SDK_DISABLED" }}, &callParams},
		{"default", &Options{}, &callParams},
		{"logged-text", &Options{Logger: slog.New(NewHandler(io.Discard, false, slog.LevelInfo, "edge-1")), Replica: "edge-1"}, &callParams},
		{"logged-json", &Options{Logger: slog.New(NewHandler(io.Discard, true, slog.LevelInfo, "edge-1")), Replica: "edge-1"}, &callParams},
		{"unsampled", &Options{SpanProcessors: spans, Sampler: sdktrace.NeverSample()}, &callParams},
		{"unsampled-parent", &Options{SpanProcessors: spans}, &tracedParams},
		{"sampled", &Options{SpanProcessors: spans}, &callParams},
	} {
		b.Run(c.name, func(b *testing.B) {
			var tel *Telemetry
			if c.o != nil {
				tel = newTelemetry(b, *c.o)
			}
			ctx := requestContext()
			b.ReportAllocs()
			for b.Loop() {
				callOf(ctx, tel, c.params)
			}
		})
	}
}

// Unknown names make neither series nor span names.
func TestUnknownNamesMakeNoSeries(t *testing.T) {
	tel := newTelemetry(t, Options{})
	for i := range 10_000 {
		name := string(jsonrpc.AppendString(nil, "made up "+jsonrpc.IntID(int64(i)).Raw()))
		for _, m := range []mcp.Method{mcp.MethodToolsCall, mcp.MethodPromptsGet, mcp.Method(name)} {
			_, op := tel.Begin(t.Context(), &Request{
				Method: m, ID: callID, Params: &mcp.Params{Target: name}, Version: "v", Client: name,
			})
			op.End(&Outcome{Kind: mcp.KindUnknownTool, Code: -32602})
		}
	}
	families, err := tel.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if n := len(f.GetMetric()); n > 2*(maxClients+1) {
			t.Errorf("%s has %d series", f.GetName(), n)
		}
	}
	if n := len(*tel.server.known.Load()); n != 3 {
		t.Errorf("%d series of operations, want 3", n)
	}
}

// The line of a request names what happened, without its content.
func TestLine(t *testing.T) {
	var out bytes.Buffer
	level := new(slog.LevelVar)
	h := NewHandler(&out, true, level, "r1")
	tel := newTelemetry(t, Options{Logger: slog.New(h), Replica: "r1"})
	end := func(id jsonrpc.ID, o Outcome) {
		params := paramsOf(`{"name":"echo","arguments":{"secret":1}}`)
		_, op := tel.Begin(t.Context(), &Request{
			Method: mcp.MethodToolsCall, ID: id, Params: &params,
			Version: "v", Session: SessionPrint("the id"), Client: "c",
		})
		op.Found(mcp.MethodToolsCall, &params, "b", true)
		op.End(&o)
	}
	end(callID, Outcome{Result: []byte(`"secret"`)})
	end(callID, Outcome{ToolError: true})
	end(callID, Outcome{Kind: mcp.KindTimeout, Code: -31504, Message: "secret", Cause: errors.New("why" + strings.Repeat(" so", maxCause))})
	end(jsonrpc.ID{}, Outcome{})
	h.Flush()
	var got []map[string]any
	levels := []string{"INFO", "INFO", "WARN"}
	for line := range bytes.Lines(out.Bytes()) {
		var m map[string]any
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if _, ok := m["duration"].(float64); !ok || m["time"] == nil || len(got) >= len(levels) || m["level"] != levels[len(got)] {
			t.Errorf("line %s", line)
		}
		got = append(got, m)
	}
	if len(got) != 3 || bytes.Contains(out.Bytes(), []byte("secret")) || bytes.Contains(out.Bytes(), []byte("the id")) {
		t.Fatalf("lines:\n%s", out.String())
	}
	for i, want := range []map[string]any{{"outcome": "ok"}, {"outcome": "tool_error"}, {
		"outcome": "timeout", "code": -31504.0, "error": ("why" + strings.Repeat(" so", maxCause))[:maxCause],
	}} {
		for k, v := range map[string]any{
			"msg": "request", "method": "tools/call", "target": "echo", "backend": "b", "version": "v", "client": "c",
			"replica": "r1", "session": SessionPrint("the id"),
		} {
			want[k] = v
		}
		for k, v := range want {
			if got[i][k] != v {
				t.Errorf("line %d: %s is %v, want %v", i, k, got[i][k], v)
			}
		}
	}
	level.Set(slog.LevelDebug)
	out.Reset()
	end(jsonrpc.ID{}, Outcome{})
	h.Flush()
	if !bytes.Contains(out.Bytes(), []byte(`"DEBUG"`)) {
		t.Errorf("a notification's line at debug: %q", out.String())
	}
}

// A line waits for others, for a bounded time, and is written before the next record of another
// kind.
func TestLinesWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &shared{}
		h := NewHandler(out, false, slog.LevelInfo, "")
		log := slog.New(h)
		tel := newTelemetry(t, Options{Logger: log, Lookup: func(k string) (string, bool) { return "true", k == "OTEL_SDK_DISABLED" }})
		call(t.Context(), tel)
		if out.String() != "" {
			t.Error("a line left alone")
		}
		time.Sleep(lineDelay)
		synctest.Wait()
		if n := strings.Count(out.String(), "\n"); n != 1 {
			t.Errorf("%d lines after the delay", n)
		}
		call(t.Context(), tel)
		log.Warn("now")
		if n := strings.Count(out.String(), "\n"); n != 3 {
			t.Errorf("%d lines with the warning", n)
		}
		for range 1000 {
			call(t.Context(), tel)
		}
		if n := strings.Count(out.String(), "\n"); n < 500 {
			t.Errorf("%d lines of a crowd", n)
		}
	})
}

// shared is a buffer for several goroutines.
type shared struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// TestContentOfWrappedCalls: a span of a call through call_tool has the arguments of the tool, not those of call_tool.
func TestContentOfWrappedCalls(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	tel := newTelemetry(t, Options{Content: true})
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	tel.tracer = provider.Tracer("test")
	t.Cleanup(func() { _ = provider.Shutdown(context.Background()) })
	params := paramsOf(`{"name":"call_tool","arguments":{"name":"echo","arguments":{"x":1}}}`)
	call := mcp.Call{Method: mcp.MethodToolsCall, Params: params}
	_, op := tel.Begin(t.Context(), &Request{Method: call.Method, ID: callID, Params: &call.Params})
	if err := call.Unwrap(); err != nil {
		t.Fatal(err)
	}
	op.Found(call.Method, &call.Params, "b", true)
	op.End(&Outcome{})
	all := spans.GetSpans()
	if len(all) != 1 || all[0].Name != "tools/call echo" {
		t.Fatalf("the spans are %v", all)
	}
	for _, a := range all[0].Attributes {
		if a.Key == AttrArguments && a.Value.AsString() != `{"x":1}` {
			t.Errorf("the arguments are %s", a.Value.AsString())
		}
	}
	if !slices.ContainsFunc(all[0].Attributes, func(a attribute.KeyValue) bool { return a.Key == AttrArguments }) {
		t.Error("there are no arguments")
	}
}

// TestContentOfCuratedCalls: a span of a renamed tool with a pinned argument has both names and both arguments, in the first round and,
// with the params of a record, in later ones. Without content it has the names alone.
func TestContentOfCuratedCalls(t *testing.T) {
	for _, content := range []bool{true, false} {
		spans := tracetest.NewInMemoryExporter()
		tel := newTelemetry(t, Options{Content: content})
		provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
		tel.tracer = provider.Tracer("test")
		t.Cleanup(func() { _ = provider.Shutdown(context.Background()) })
		first, later := paramsOf(`{"name":"seek","arguments":{"x":1}}`), paramsOf(`{"name":"find","arguments":{"x":1,"tenant":"acme"}}`)
		_, op := tel.Begin(t.Context(), &Request{Method: mcp.MethodToolsCall, ID: callID, Params: &first})
		first.Target, first.Arguments = "find", json.RawMessage(`{"x":1,"tenant":"acme"}`)
		op.Found(mcp.MethodToolsCall, &first, "b", true)
		op.End(&Outcome{})
		later.Resume("seek", "", json.RawMessage(`{"tenant":"acme"}`))
		_, op = tel.Begin(t.Context(), &Request{Method: mcp.MethodToolsCall, ID: callID, Params: &later, Backend: "b", Round: 2, Internal: true})
		op.End(&Outcome{})
		all := spans.GetSpans()
		if len(all) != 2 {
			t.Fatalf("the spans are %v", all)
		}
		for i := range all {
			got := map[attribute.Key]string{}
			for _, a := range all[i].Attributes {
				got[a.Key] = a.Value.String()
			}
			want := map[attribute.Key]string{AttrToolName: "find", AttrShown: "seek", AttrArguments: "", AttrEffective: ""}
			if content {
				want[AttrArguments], want[AttrEffective] = `{"x":1}`, `{"x":1,"tenant":"acme"}`
			}
			for name, value := range want {
				if got[name] != value {
					t.Errorf("content %t, span %d: %s is %q, want %q", content, i, name, got[name], value)
				}
			}
		}
	}
}

// ended keeps the last request that has ended.
type ended struct {
	Auditor
	last *Audited
}

func (e *ended) Ended(a *Audited, _ string, _ int, _ time.Duration) { e.last = a }

// TestReadsThroughATool: a read through read_resource is a read for spans, metrics, the log and the audit, which know the tool.
func TestReadsThroughATool(t *testing.T) {
	spans, out, audit := tracetest.NewInMemoryExporter(), bytes.Buffer{}, &ended{}
	h := NewHandler(&out, true, new(slog.LevelVar), "r1")
	tel := newTelemetry(t, Options{Logger: slog.New(h), Replica: "r1"})
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	tel.tracer = provider.Tracer("test")
	t.Cleanup(func() { _ = provider.Shutdown(context.Background()) })
	tel.Audit(audit)
	call := mcp.Call{Method: mcp.MethodToolsCall, Params: paramsOf(`{"name":"read_resource","arguments":{"uri":"crm://a"}}`)}
	_, op := tel.Begin(t.Context(), &Request{Method: call.Method, ID: callID, Params: &call.Params})
	if err := call.Unwrap(); err != nil {
		t.Fatal(err)
	}
	op.Found(call.Method, &call.Params, "crm", false)
	op.End(&Outcome{})
	all := spans.GetSpans()
	if len(all) != 1 || all[0].Name != "resources/read" {
		t.Fatalf("the spans are %v", all)
	}
	for _, want := range []attribute.KeyValue{AttrMethod.String("resources/read"), AttrResourceURI.String("crm://a"), AttrBackend.String("crm")} {
		if !slices.Contains(all[0].Attributes, want) {
			t.Errorf("the span lacks %v: %v", want, all[0].Attributes)
		}
	}
	for s := range *tel.server.known.Load() {
		if s.method != mcp.MethodResourcesRead || s.target != "" {
			t.Errorf("a series of %v", s)
		}
	}
	if h.Flush(); !strings.Contains(out.String(), `"method":"resources/read"`) || !strings.Contains(out.String(), `"via":"read_resource"`) {
		t.Errorf("the line is %s", out.String())
	}
	if a := audit.last; a == nil || a.Method != mcp.MethodResourcesRead || a.Target != "crm://a" || a.Via != mcp.ToolReadResource || a.Backend != "crm" {
		t.Errorf("audited is %+v", a)
	}
}
