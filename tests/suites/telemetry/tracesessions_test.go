//go:build jaeger

package telemetry

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/telemetry"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// A client that comes back to its stream elsewhere is in the trace of its call; one that is in a trace of its own is linked.
func traceOfResumed(t *testing.T, d *deployment, a, b *replica) {
	s := newSession(t, a.url)
	var own string
	id := d.traced("count down", func(parent string) {
		x := s.post(a.url, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"countdown","arguments":{"steps":4,"interval_ms":500},`+
			`"_meta":{"progressToken":1,"traceparent":"`+parent+`"}}}`)
		x.next()
		x.close()
		own = d.traced("GET", func(parent string) {
			x := open(t, http.MethodGet, b.url, "", "MCP-Protocol-Version", legacy, "Mcp-Session-Id", s.id, "Last-Event-ID", x.first, "Traceparent", parent)
			x.next()
			x.close()
		})
		if m := s.resume(b.url, x.first).response(); m.Result == nil {
			t.Errorf("%s", m.Error)
		}
	})
	spans := d.jaeger.await(t, id, 7) // client, call, two of gRPC, begin, resume, finish
	call := only(t, spans, "tools/call countdown", trace.SpanKindServer)
	resumed := only(t, spans, "stream resume", trace.SpanKindServer)
	if attr(call, "service.instance.id") != "a" || attr(resumed, "service.instance.id") != "b" || resumed.Parent.SpanID() != call.SpanContext.SpanID() ||
		linked(spans, telemetry.ReasonResumed) != call.SpanContext.SpanID() || value(resumed, telemetry.AttrReplayed) == "0" {
		t.Errorf("the trace is\n%s", tree(spans))
	}
	var progress int
	for _, e := range call.Events {
		if e.Name == "notifications/progress" {
			progress++
		}
	}
	if progress != 4 {
		t.Errorf("the call has the events %v, want progress four times", call.Events)
	}
	spans = d.jaeger.await(t, own, 2)
	if got := only(t, spans, "stream resume", trace.SpanKindServer); linked(spans, telemetry.ReasonResumed) != call.SpanContext.SpanID() ||
		got.Links[0].SpanContext.TraceID().String() != id {
		t.Errorf("a GET with a trace of its own is\n%s", tree(spans))
	}
}

// The user is asked by one replica and answers another: one trace, and the question names its span.
func traceOfElicitation(t *testing.T, d *deployment, a, b *replica) {
	s := newSession(t, a.url)
	var ask message
	id := d.traced("ask", func(parent string) {
		x := s.post(a.url, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"test_elicitation","arguments":{"message":"Who?"},`+
			`"_meta":{"traceparent":"`+parent+`"}}}`)
		ask = x.next()
		answer(t, s, b, ask, `{"action":"accept","content":{"username":"ada","email":"ada@example.com"}}`)
		if m := x.response(); m.Result == nil {
			t.Errorf("%s", m.Error)
		}
	})
	spans := d.jaeger.awaitTree(t, id, 11, "jaeger-elicitation")
	namesSpan(t, ask, only(t, spans, "elicitation/create", trace.SpanKindClient))
}

// Each kind of request to a client has its span.
func traceOfAllQuestions(t *testing.T, d *deployment, a, b *replica) {
	s := newSession(t, a.url)
	answers := map[string]string{
		"elicitation/create":     `{"action":"accept","content":{"name":"ada"}}`,
		"sampling/createMessage": `{"role":"assistant","model":"m","content":{"type":"text","text":"hello"}}`,
		"roots/list":             `{"roots":[]}`,
	}
	asked := map[string]message{}
	id := d.traced("ask everybody", func(parent string) {
		x := s.call(a.url, "test_input_required_result_multiple_inputs", `"traceparent":"`+parent+`"`)
		for range answers {
			m := x.next()
			asked[m.Method] = m
			answer(t, s, []*replica{a, b}[len(asked)%2], m, answers[m.Method])
		}
		if m := x.response(); m.Result == nil {
			t.Errorf("%s", m.Error)
		}
	})
	spans := d.jaeger.await(t, id, 4+len(answers)+4) // client, call, gRPC; questions; answered call, gRPC, one step of it
	call := only(t, spans, "tools/call test_input_required_result_multiple_inputs", trace.SpanKindServer)
	for method := range answers {
		span := only(t, spans, method, trace.SpanKindClient)
		if namesSpan(t, asked[method], span); span.Parent.SpanID() != call.SpanContext.SpanID() {
			t.Errorf("%s is not below its call:\n%s", method, tree(spans))
		}
	}
}

// answer answers a request to the client.
func answer(t *testing.T, s *session, at *replica, ask message, result string) {
	t.Helper()
	x := s.post(at.url, `{"jsonrpc":"2.0","id":`+string(ask.ID)+`,"result":`+result+`}`)
	if x.resp.StatusCode != http.StatusAccepted {
		t.Errorf("an answer to %s has the status %s", ask.Method, x.resp.Status)
	}
}

// namesSpan fails the test unless a request to the client named a span in its `_meta`.
func namesSpan(t *testing.T, ask message, span tracetest.SpanStub) {
	t.Helper()
	var params struct {
		Meta struct{ TraceParent string } `json:"_meta"`
	}
	want := fmt.Sprintf("00-%s-%s-01", span.SpanContext.TraceID(), span.SpanContext.SpanID())
	if err := json.Unmarshal(ask.Params, &params); err != nil || params.Meta.TraceParent != want {
		t.Errorf("%s says %s: %v; want the traceparent %s", ask.Method, ask.Params, err, want)
	}
}

// A call of a replica that was lost is gone on with in its trace, linked to the last span that is known of it.
func traceOfTakenOver(t *testing.T, d *deployment, _, b *replica) {
	c := d.edge(t, "c", nil)
	s := newSession(t, c.url)
	id := d.traced("count down", func(parent string) {
		x := s.post(c.url, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"countdown","arguments":{"steps":3,"interval_ms":1000},`+
			`"_meta":{"progressToken":1,"traceparent":"`+parent+`"}}}`)
		x.next()
		if err := c.Kill(); err != nil {
			t.Fatal(err)
		}
		if m := s.resume(b.url, x.first).response(); m.Result == nil {
			t.Fatalf("%s", m.Error)
		}
	})
	var spans tracetest.SpanStubs
	await.Until(t, "the span of the call that was taken over", func() bool {
		spans = d.jaeger.trace(t, id)
		return len(spansOf(spans, "tools/call countdown", trace.SpanKindInternal)) > 0 && len(spansOf(spans, "state.claim", trace.SpanKindClient)) > 0
	})
	over := only(t, spans, "tools/call countdown", trace.SpanKindInternal)
	request := over.Parent.SpanID().String() // of the span at the replica that is lost
	if linked(spans, telemetry.ReasonTakenOver).String() != request || attr(over, "service.instance.id") == "c" || value(over, telemetry.AttrAttempt) != "2" ||
		value(over, telemetry.AttrOutcome) != "ok" {
		t.Errorf("the trace is\n%s", tree(spans))
	}
	if claim := only(t, spans, "state.claim", trace.SpanKindClient); claim.Parent.SpanID().String() != request {
		t.Errorf("the claim is not below the request:\n%s", tree(spans))
	}
	await.Until(t, "the backend's span of the run that was taken over", func() bool {
		spans = d.jaeger.trace(t, id)
		for _, call := range spansOf(spans, "mcpedge.v1.ToolService/CallTool", trace.SpanKindClient) {
			for _, handler := range spansOf(spans, "mcpedge.v1.ToolService/CallTool", trace.SpanKindServer) {
				if call.Parent.SpanID() == over.SpanContext.SpanID() && handler.Parent.SpanID() == call.SpanContext.SpanID() {
					return true
				}
			}
		}
		return false
	})
}
