//go:build jaeger

package telemetry

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// unwanted is a trace that its client does not want kept.
const unwanted = "2222222222222222222222222222222b"

// What docs/telemetry.md says of traces, as Jaeger tells it of edges and services that are processes with the standard
// environment.
func TestJaeger(t *testing.T) {
	d := deploy(t)
	a := d.edge(t, "a", nil)
	b := d.edge(t, "b", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + d.jaeger.grpc, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"})
	callModern(t, a.url, "greet", `,"arguments":{"name":"Ada"}`, `,"traceparent":"00-`+unwanted+`-b7ad6b7169203331-00"`).response()
	for name, test := range map[string]func(*testing.T, *deployment, *replica, *replica){
		"call": traceOfCall, "http": traceOfHTTP, "session": traceOfSession, "resumed": traceOfResumed,
		"elicitation": traceOfElicitation, "everything asked": traceOfAllQuestions, "rounds": traceOfRounds,
		"failures": traceOfFailures, "task": traceOfTask, "asking task": traceOfAskingTask, "taken over": traceOfTakenOver,
		"listen": traceOfListen, "dark": traceThroughDarkEdge, "settings": traceBySettings, "log": traceInLog,
		"exemplars": traceOfExemplars,
	} {
		t.Run(name, func(t *testing.T) { test(t, d, a, b) })
	}
	// What is asked first when something is looked for.
	for _, service := range []string{"client", "mcpedge", "everything", "tools"} {
		if got := d.jaeger.services(t); !slices.Contains(got, service) {
			t.Errorf("Jaeger knows the services %v, not %s", got, service)
		}
	}
	for service, operation := range map[string]string{"mcpedge": "tools/call weather_current", "tools": "mcpedge.v1.ToolService/CallTool"} {
		if got := d.jaeger.operations(t, service); !slices.Contains(got, operation) {
			t.Errorf("Jaeger knows the operations %v of %s, not %s", got, service, operation)
		}
	}
	if spans := d.jaeger.trace(t, unwanted); len(spans) != 0 {
		t.Errorf("a trace that its client does not want is kept:\n%s", tree(spans))
	}
}

// A client, the edge and the backend are one trace; the HTTP request is linked.
func traceOfCall(t *testing.T, d *deployment, a, _ *replica) {
	carrier, header := d.span("POST")
	id := d.traced("ask for the weather", func(parent string) {
		m := callModern(t, a.url, "weather_current", `,"arguments":{"city":"Paris"}`, `,"traceparent":"`+parent+`"`, "Traceparent", header).response()
		if m.Result == nil {
			t.Fatalf("%s", m.Error)
		}
	})
	carrier.End()
	spans := d.jaeger.awaitTree(t, id, 4, "jaeger-call")
	if got := linked(spans, telemetry.ReasonHTTP); got != carrier.SpanContext().SpanID() {
		t.Errorf("linked as the HTTP request is %s, want %s", got, carrier.SpanContext().SpanID())
	}
	if text := fmt.Sprint(spans); strings.Contains(text, "Paris") {
		t.Errorf("an argument is in the spans: %s", text)
	}
	if got := d.jaeger.find(t, "mcpedge", map[string]string{"gen_ai.tool.name": "weather_current", "mcpedge.backend.name": "tools"}); !slices.Contains(got, id) {
		t.Errorf("found by its attributes are the traces %v, want %s among them", got, id)
	}
}

// Without a context in `_meta` the HTTP request's is the parent.
func traceOfHTTP(t *testing.T, d *deployment, _, b *replica) {
	id := d.traced("POST", func(parent string) {
		callModern(t, b.url, "weather_current", `,"arguments":{"city":"Paris"}`, "", "Traceparent", parent).response()
	})
	spans := d.jaeger.await(t, id, 4)
	call, post := only(t, spans, "tools/call weather_current", trace.SpanKindServer), only(t, spans, "POST", trace.SpanKindClient)
	if call.Parent.SpanID() != post.SpanContext.SpanID() || len(call.Links) != 0 {
		t.Errorf("the trace is\n%s", tree(spans))
	}
}

// Requests of a session, and a notification, are in the trace that each names.
func traceOfSession(t *testing.T, d *deployment, a, _ *replica) {
	s := newSession(t, a.url)
	id := d.traced("work", func(parent string) {
		for _, one := range []struct{ method, params string }{
			{"notifications/initialized", `{`},
			{"tools/list", `{`},
			{"logging/setLevel", `{"level":"debug",`},
			{"prompts/get", `{"name":"test_simple_prompt",`},
			{"resources/read", `{"uri":"test://static-text",`},
			{"tools/call", `{"name":"test_tool_with_logging","arguments":{},`},
		} {
			request := `"id":7,`
			if strings.HasPrefix(one.method, "notifications/") {
				request = ""
			}
			x := s.post(a.url, `{"jsonrpc":"2.0",`+request+`"method":"`+one.method+`","params":`+one.params+`"_meta":{"traceparent":"`+parent+`"}}}`)
			if request == "" {
				continue
			}
			if m := x.response(); m.Result == nil {
				t.Errorf("%s: %s", one.method, m.Error)
			}
		}
	})
	spans := d.jaeger.awaitTree(t, id, 15, "jaeger-session")
	sum := sha256.Sum256([]byte(s.id))
	for _, span := range spans {
		if got := value(span, telemetry.AttrSession); got != "" && got != hex.EncodeToString(sum[:8]) {
			t.Errorf("%s has the session %s, want the first 64 bits of %x", span.Name, got, sum)
		}
	}
}

// A round that names no trace joins the call's, one that names its own is there, and both are linked to the round before.
func traceOfRounds(t *testing.T, d *deployment, a, b *replica) {
	const tool = "test_input_required_result_elicitation"
	round := func(at *replica, state, parent string) (next string) {
		params, meta := `,"arguments":{}`, ""
		if state != "" {
			params += `,"requestState":` + state + `,"inputResponses":{"user_name":{"action":"accept","content":{"name":"ada"}}}`
		}
		if parent != "" {
			meta = `,"traceparent":"` + parent + `"`
		}
		m := callModern(t, at.url, tool, params, meta).response()
		var asked struct{ RequestState json.RawMessage }
		if err := json.Unmarshal(m.Result, &asked); err != nil {
			t.Fatalf("%s: %v", m.Error, err)
		}
		return string(asked.RequestState)
	}
	var own string
	id := d.traced("ask", func(parent string) {
		state := round(a, "", parent)
		own = d.traced("answer", func(parent string) { round(b, state, parent) })
		state = round(a, "", parent)
		round(b, state, "")
	})
	// In the trace are two first rounds and one second, each with two spans of gRPC.
	spans := d.jaeger.awaitTree(t, id, 10, "jaeger-rounds")
	first := spans[slices.IndexFunc(spans, func(s tracetest.SpanStub) bool { return s.Name == "tools/call "+tool })]
	spans = d.jaeger.await(t, own, 4)
	if linked(spans, telemetry.ReasonAnswered) != first.SpanContext.SpanID() {
		t.Errorf("a round in a trace of its own is not linked to the first:\n%s", tree(spans))
	}
}

// What failed is marked, by whom it is to blame; its description is what the client got, without arguments.
func traceOfFailures(t *testing.T, d *deployment, a, _ *replica) {
	id := d.traced("try", func(parent string) {
		meta := `,"traceparent":"` + parent + `"`
		callModern(t, a.url, "test_error_handling", `,"arguments":{}`, meta).response()
		callModern(t, a.url, "missing", `,"arguments":{}`, meta).response()
		callModern(t, a.url, "countdown", `,"arguments":{"steps":"hemlock"}`, meta).response()
		open(t, http.MethodPost, a.url, `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"hemlock"},"_meta":{`+taskMeta+meta+`}}}`,
			"MCP-Protocol-Version", modern, "Mcp-Method", "completion/complete").response()
	})
	spans := d.jaeger.awaitTree(t, id, 7, "jaeger-failures")
	if text := fmt.Sprint(spans); strings.Contains(text, "hemlock") {
		t.Errorf("an argument is in the spans: %s", text)
	}
	for attributes, want := range map[[2]string]bool{{"error.type", "tool_error"}: true, {"error.type", "-32602"}: true, {"error.type", "-31502"}: false} {
		if got := d.jaeger.find(t, "mcpedge", map[string]string{attributes[0]: attributes[1]}); slices.Contains(got, id) != want {
			t.Errorf("found by %v are the traces %v; %s among them: want %t", attributes, got, id, want)
		}
	}
}
