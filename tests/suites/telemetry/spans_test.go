package telemetry

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/telemetry"
	"github.com/mcpedge/mcpedge/tests/helpers/authorizer"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/hookserver"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

func TestProgressModern(t *testing.T) {
	r := newRig(t)
	e := r.start("a", nil)
	if m := callModern(t, e.URL, "progress", `,"arguments":{}`, `,"progressToken":1`).response(); m.Result == nil {
		t.Fatalf("%s", m.Error)
	}
	r.awaitTree(3, "progress-modern")
}

func TestProgressLegacy(t *testing.T) {
	r := newRig(t)
	e := r.start("a", nil)
	s := newSession(t, e.URL)
	if m := s.call(e.URL, "progress", `"progressToken":1`).response(); m.Result == nil {
		t.Fatalf("%s", m.Error)
	}
	r.awaitTree(4, "progress-legacy")
}

func TestElicitationModern(t *testing.T) {
	r := newRig(t)
	e := r.start("a", nil)
	m := callModern(t, e.URL, "ask", `,"arguments":{}`, "").response()
	var asked struct {
		RequestState json.RawMessage `json:"requestState"`
	}
	if err := json.Unmarshal(m.Result, &asked); err != nil || asked.RequestState == nil {
		t.Fatalf("%s %s", m.Result, m.Error)
	}
	m = callModern(t, e.URL, "ask", `,"arguments":{},"requestState":`+string(asked.RequestState)+
		`,"inputResponses":{"who":{"action":"accept","content":{"name":"Ada"}}}`, "").response()
	if m.Result == nil {
		t.Fatalf("%s", m.Error)
	}
	r.awaitTree(6, "elicitation-modern")
}

// The user is asked by one replica and answers another.
func TestElicitationLegacy(t *testing.T) {
	r := newRig(t)
	url := redisserver.ForTest(t).URL()
	shared := func(c *config.Config, _ *telemetry.Options) { c.Redis.URL = url }
	a, b := r.start("a", shared), r.start("b", shared)
	s := newSession(t, a.URL)
	x := s.call(a.URL, "ask", "")
	ask := x.next()
	if ask.Method != "elicitation/create" {
		t.Fatalf("asked %+v", ask)
	}
	answer := s.post(b.URL, `{"jsonrpc":"2.0","id":`+string(ask.ID)+`,"result":{"action":"accept","content":{"name":"Ada"}}}`)
	if answer.resp.StatusCode != http.StatusAccepted {
		t.Fatalf("status %d", answer.resp.StatusCode)
	}
	if m := x.response(); m.Result == nil {
		t.Fatalf("%s", m.Error)
	}
	r.awaitTree(11, "elicitation-legacy")
}

func TestFailures(t *testing.T) {
	r := newRig(t)
	e := r.start("a", nil)
	for tool, spans := range map[string]int{"broken": 3, "unlucky": 3, "missing": 1} {
		callModern(t, e.URL, tool, `,"arguments":{}`, "").response()
		r.awaitTree(spans, "failure-"+tool)
	}
}

// The line of a call that its backend failed has the reason, in each era; its client is told of none.
func TestCausesAreInTheLog(t *testing.T) {
	r := newRig(t)
	file := filepath.Join(t.TempDir(), "log")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	h := telemetry.NewHandler(out, false, slog.LevelWarn, "")
	lines := func() []string {
		h.Flush()
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Collect(strings.Lines(string(text)))
	}
	e := r.start("a", func(_ *config.Config, o *telemetry.Options) { o.Logger = slog.New(h) })
	s := newSession(t, e.URL)
	// The line of a caller's mistake would be there by the time the last call's is.
	if m := callModern(t, e.URL, "missing", `,"arguments":{}`, "").response(); m.Error == nil {
		t.Error("a tool that does not exist is no error")
	}
	for n, x := range []*exchange{callModern(t, e.URL, "broken", `,"arguments":{}`, ""), s.call(e.URL, "broken", "")} {
		if m := x.response(); m.Error == nil || strings.Contains(string(m.Error), "out of order") {
			t.Errorf("the client is told %s", m.Error)
		}
		await.Until(t, "a line for each call that failed", func() bool { return len(lines()) > n })
	}
	all := lines()
	for _, line := range all {
		if !strings.Contains(line, " level=WARN msg=request method=tools/call target=broken outcome=unavailable ") || !strings.Contains(line, "out of order") {
			t.Errorf("a line is %s", line)
		}
	}
	if len(all) != 2 {
		t.Errorf("two calls failed, and there are %d lines", len(all))
	}
}

// A client comes back to its stream at another replica than the one that runs the call.
func TestResumeElsewhere(t *testing.T) {
	r := newRig(t)
	url := redisserver.ForTest(t).URL()
	shared := func(c *config.Config, _ *telemetry.Options) { c.Redis.URL = url }
	a, b := r.start("a", shared), r.start("b", shared)
	s := newSession(t, a.URL)
	x := s.call(a.URL, "slow", `"progressToken":1`)
	x.next()
	x.close()
	x = s.resume(b.URL, x.first)
	if m := x.next(); m.Method != "notifications/progress" {
		t.Fatalf("resumed with %+v", m)
	}
	close(r.hold)
	if m := x.response(); m.Result == nil {
		t.Fatalf("%s", m.Error)
	}
	r.awaitTree(7, "resume-elsewhere")
}

const (
	clientTrace = "0af7651916cd43dd8448eb211c80319c"
	httpTrace   = "1111111111111111111111111111111a"
)

func parent(id string) string { return "00-" + id + "-b7ad6b7169203331-01" }

// The context in `_meta` is the parent; the HTTP request's is linked. What the client told of its trace
// goes on to the backend.
func TestContextOfTheClient(t *testing.T) {
	r := newRig(t)
	e := r.start("a", nil)
	s := newSession(t, e.URL)
	r.awaitTree(1, "initialize")
	meta := `"traceparent":"` + parent(clientTrace) + `","tracestate":"x=y","baggage":"user=ada"`
	for _, call := range []func() *exchange{
		func() *exchange {
			return callModern(t, e.URL, "echo", `,"arguments":{"name":"x"}`, ","+meta, "Traceparent", parent(httpTrace))
		},
		func() *exchange {
			return s.post(e.URL, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"name":"x"},"_meta":{`+meta+`}}}`,
				"Traceparent", parent(httpTrace))
		},
	} {
		call().response()
		await.Until(t, "3 spans", func() bool { return len(r.spans.GetSpans()) >= 3 })
		for _, span := range r.spans.GetSpans() {
			if got := span.SpanContext.TraceID().String(); got != clientTrace {
				t.Errorf("%s is in trace %s, want the client's", span.Name, got)
			}
			if got := span.SpanContext.TraceState().String(); got != "x=y" {
				t.Errorf("%s has the trace state %q", span.Name, got)
			}
			if span.Name != "tools/call echo" {
				continue
			}
			if got := span.Parent.SpanID().String(); got != "b7ad6b7169203331" {
				t.Errorf("the parent is %s", got)
			}
			if len(span.Links) != 1 || span.Links[0].SpanContext.TraceID().String() != httpTrace || span.Links[0].Attributes[0].Value.AsString() != string(telemetry.ReasonHTTP) {
				t.Errorf("links are %v", span.Links)
			}
		}
		r.spans.Reset()
		if got := r.sent(); !strings.HasPrefix(got, parent(clientTrace)[:36]) || strings.Contains(got, "b7ad6b7169203331") || !strings.HasSuffix(got, "-01 user=ada x=y") {
			t.Errorf("the backend got %q", got)
		}
	}
	// Without a context in _meta the HTTP request's is the parent.
	callModern(t, e.URL, "echo", `,"arguments":{"name":"x"}`, "", "Traceparent", parent(httpTrace)).response()
	await.Until(t, "3 spans", func() bool { return len(r.spans.GetSpans()) >= 3 })
	for _, span := range r.spans.GetSpans() {
		if got := span.SpanContext.TraceID().String(); got != httpTrace || len(span.Links) != 0 {
			t.Errorf("%s is in trace %s with links %v", span.Name, got, span.Links)
		}
	}
}

// An edge that does not trace hands the client's context on as it is, and one that does not sample says
// so to the backend.
func TestContextGoesThroughWithoutTracing(t *testing.T) {
	r := newRig(t)
	meta := `,"traceparent":"` + parent(clientTrace) + `","tracestate":"x=y","baggage":"user=ada"`
	off := r.start("off", func(_ *config.Config, o *telemetry.Options) { o.SpanProcessors = nil })
	for meta, want := range map[string]string{
		meta: parent(clientTrace) + " user=ada x=y",
		"":   "  ",
		`,"traceparent":"nonsense","tracestate":"x=y","baggage":"a=b\n"`: "  ",
		`,"traceparent":7,"baggage":{}`:                                  "  ",
	} {
		if m := callModern(t, off.URL, "echo", `,"arguments":{"name":"x"}`, meta).response(); m.Result == nil {
			t.Fatalf("%s", m.Error)
		}
		if got := r.sent(); got != want {
			t.Errorf("%s: the backend got %q, want %q", meta, got, want)
		}
	}
	// The backend makes a span for each call, and ends it after its caller has the response.
	await.Until(t, "the backend's own 4 spans", func() bool { return len(r.spans.GetSpans()) >= 4 })
	r.spans.Reset()
	never := r.start("never", func(_ *config.Config, o *telemetry.Options) { o.Sampler = sdktrace.NeverSample() })
	callModern(t, never.URL, "echo", `,"arguments":{"name":"x"}`, meta).response()
	got := r.sent()
	if !strings.HasPrefix(got, parent(clientTrace)[:36]) || !strings.HasSuffix(got, "-00 user=ada x=y") || strings.Contains(got, "b7ad6b7169203331") {
		t.Errorf("the backend of an edge that does not sample got %q", got)
	}
	if n := len(r.spans.GetSpans()); n != 0 {
		t.Errorf("%d spans of a trace that is not sampled", n)
	}
}

// Arguments and results are in spans only when they are asked for.
func TestContent(t *testing.T) {
	for _, content := range []bool{false, true} {
		r := newRig(t)
		e := r.start("a", func(_ *config.Config, o *telemetry.Options) { o.Content = content })
		callModern(t, e.URL, "echo", `,"arguments":{"name":"secret"}`, "").response()
		await.Until(t, "3 spans", func() bool { return len(r.spans.GetSpans()) >= 3 })
		if got := strings.Count(fmt.Sprint(r.spans.GetSpans()), "secret"); (got > 0) != content {
			t.Errorf("content %t: %d mentions of it", content, got)
		}
	}
}

// What a policy server is asked is part of the trace.
func TestPolicyServerIsTraced(t *testing.T) {
	r := newRig(t)
	pdp := authorizer.Serve(t)
	e := r.start("a", func(c *config.Config, _ *telemetry.Options) {
		c.Policy = &config.Policy{External: &config.External{Target: pdp.Addr, Timeout: 10 * time.Second}}
	})
	if m := callModern(t, e.URL, "progress", `,"arguments":{}`, "").response(); m.Result == nil {
		t.Fatalf("%s", m.Error)
	}
	r.awaitTree(4, "policy-server")
}

// A question to a hook is a client span of the request, beside the call of the backend.
func TestHooksAreTraced(t *testing.T) {
	r := newRig(t)
	s := hookserver.Serve(t)
	e := r.start("a", func(c *config.Config, _ *telemetry.Options) {
		c.Hooks = []config.Hook{{Name: "dlp", Target: s.Addr, On: config.Names{"request", "result"}, Timeout: 10 * time.Second}}
	})
	if m := callModern(t, e.URL, "progress", `,"arguments":{}`, "").response(); m.Result == nil {
		t.Fatalf("%s", m.Error)
	}
	r.awaitTree(5, "hooks")
}
