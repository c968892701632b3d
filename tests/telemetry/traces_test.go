//go:build jaeger

package telemetry

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/telemetry"
	"github.com/mcpedge/mcpedge/tests/await"
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
	for _, service := range []string{"client", "mcpedge", "everything", "tools", "front"} {
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
	spans := d.jaeger.awaitTree(t, id, 12, "jaeger-session")
	sum := sha256.Sum256([]byte(s.id))
	for _, span := range spans {
		if got := value(span, telemetry.AttrSession); got != "" && got != hex.EncodeToString(sum[:8]) {
			t.Errorf("%s has the session %s, want the first 64 bits of %x", span.Name, got, sum)
		}
	}
}

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
	})
	spans := d.jaeger.awaitTree(t, id, 6, "jaeger-failures")
	if text := fmt.Sprint(spans); strings.Contains(text, "hemlock") {
		t.Errorf("an argument is in the spans: %s", text)
	}
	for attributes, want := range map[[2]string]bool{{"error.type", "tool_error"}: true, {"error", "true"}: true, {"error.type", "-31502"}: false} {
		if got := d.jaeger.find(t, "mcpedge", map[string]string{attributes[0]: attributes[1]}); slices.Contains(got, id) != want {
			t.Errorf("found by %v are the traces %v; %s among them: want %t", attributes, got, id, want)
		}
	}
}

// The run of a task goes on in the trace of the request that made it.
func traceOfTask(t *testing.T, d *deployment, a, b *replica) {
	id := d.traced("compute", func(parent string) {
		task := makeTask(t, a, "slow_compute", `{"seconds":0.01}`, parent)
		await.Until(t, "the end of the task", func() bool { return taskState(t, b, task) == "completed" })
	})
	d.jaeger.awaitTree(t, id, 5, "jaeger-task")
}

// A task that asks is gone on with where its answer comes in, in the same trace.
func traceOfAskingTask(t *testing.T, d *deployment, a, b *replica) {
	id := d.traced("delete", func(parent string) {
		task := makeTask(t, a, "confirm_delete", `{"filename":"x"}`, parent)
		var key string
		await.Until(t, "the question of the task", func() bool {
			var got struct {
				InputRequests map[string]json.RawMessage
			}
			m := taskCall(t, a, "tasks/get", `"taskId":"`+task+`"`)
			_ = json.Unmarshal(m.Result, &got)
			for key = range got.InputRequests {
				return true
			}
			return false
		})
		if m := taskCall(t, b, "tasks/update", `"taskId":"`+task+`","inputResponses":{"`+key+`":{"action":"accept","content":{"answer":"yes"}}}`); m.Result == nil {
			t.Fatalf("%s", m.Error)
		}
		await.Until(t, "the end of the task", func() bool { return taskState(t, b, task) == "completed" })
	})
	spans := d.jaeger.await(t, id, 8) // client, request, two rounds with two spans of gRPC each
	rounds := spansOf(spans, "tools/call confirm_delete", trace.SpanKindInternal)
	if len(rounds) != 2 || linked(spans, telemetry.ReasonAnswered) != rounds[0].SpanContext.SpanID() {
		t.Errorf("the second run is not linked to the one that asked:\n%s", tree(spans))
	}
}

// taskCall sends a request of a client that can have tasks.
func taskCall(t *testing.T, at *replica, method, params string) message {
	t.Helper()
	name := regexp.MustCompile(`"(?:name|taskId)":"([^"]+)"`).FindStringSubmatch(params)[1]
	return open(t, http.MethodPost, at.url, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+params+`,"_meta":{`+taskMeta+`}}}`,
		"MCP-Protocol-Version", modern, "Mcp-Method", method, "Mcp-Name", name).response()
}

const taskMeta = `"io.modelcontextprotocol/protocolVersion":"` + modern + `","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},` +
	`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`

// makeTask calls a tool that is a task at once, and returns the task's id.
func makeTask(t *testing.T, at *replica, tool, arguments, parent string) (id string) {
	t.Helper()
	m := open(t, http.MethodPost, at.url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+arguments+
		`,"_meta":{`+taskMeta+`,"traceparent":"`+parent+`"}}}`, "MCP-Protocol-Version", modern, "Mcp-Method", "tools/call", "Mcp-Name", tool).response()
	var made struct{ TaskID string }
	if err := json.Unmarshal(m.Result, &made); err != nil || made.TaskID == "" {
		t.Fatalf("no task is made: %s %s", m.Result, m.Error)
	}
	return made.TaskID
}

func taskState(t *testing.T, at *replica, id string) string {
	t.Helper()
	var got struct{ Status string }
	_ = json.Unmarshal(taskCall(t, at, "tasks/get", `"taskId":"`+id+`"`).Result, &got)
	return got.Status
}

// A call of a replica that was lost is gone on with in its trace, linked to the last span that is known of it.
func traceOfTakenOver(t *testing.T, d *deployment, _, b *replica) {
	c := d.edge(t, "c", nil)
	s := newSession(t, c.url)
	var request string // the span of the request at the replica that is lost
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
	request = over.Parent.SpanID().String()
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

// The span of a subscription ends when it is acknowledged, though it goes on.
func traceOfListen(t *testing.T, d *deployment, a, _ *replica) {
	id := d.traced("listen", func(parent string) {
		x := open(t, http.MethodPost, a.url, `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},`+
			`"_meta":{`+taskMeta+`,"traceparent":"`+parent+`"}}}`, "MCP-Protocol-Version", modern, "Mcp-Method", "subscriptions/listen")
		defer x.close()
		if m := x.next(); m.Method != "notifications/subscriptions/acknowledged" {
			t.Errorf("the first message is %s", m.Method)
		}
		d.jaeger.await(t, strings.Split(parent, "-")[1], 1) // while it is open
	})
	spans := d.jaeger.await(t, id, 2)
	if listen := only(t, spans, "subscriptions/listen", trace.SpanKindServer); value(listen, telemetry.AttrOutcome) != "ok" {
		t.Errorf("the trace is\n%s", tree(spans))
	}
}

// An edge that does not trace hands the client's context on.
func traceThroughDarkEdge(t *testing.T, d *deployment, _, _ *replica) {
	dark := d.edge(t, "dark", []string{"OTEL_TRACES_EXPORTER=none"})
	id := d.traced("ask", func(parent string) {
		callModern(t, dark.url, "weather_current", `,"arguments":{"city":"Paris"}`, `,"traceparent":"`+parent+`"`).response()
	})
	spans := d.jaeger.await(t, id, 2)
	handler, client := only(t, spans, "mcpedge.v1.ToolService/CallTool", trace.SpanKindServer), only(t, spans, "ask", trace.SpanKindClient)
	if handler.Parent.SpanID() != client.SpanContext.SpanID() || len(spans) != 2 {
		t.Errorf("the trace is\n%s", tree(spans))
	}
}

// An edge has the name and attributes that its environment gives it, traces what its sampler says, and shows arguments
// and results when it is told to.
func traceBySettings(t *testing.T, d *deployment, _, _ *replica) {
	front := d.edge(t, "front", []string{
		"OTEL_SERVICE_NAME=front", "OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=test", "OTEL_TRACES_SAMPLER=always_on",
	}, "--trace-content")
	span, parent := d.span("ask")
	span.End()
	callModern(t, front.url, "weather_current", `,"arguments":{"city":"Paris"}`, `,"traceparent":"`+strings.TrimSuffix(parent, "1")+`0"`).response()
	spans := d.jaeger.await(t, span.SpanContext().TraceID().String(), 4)
	call := only(t, spans, "tools/call weather_current", trace.SpanKindServer)
	if attr(call, "service.name") != "front" || attr(call, "deployment.environment.name") != "test" {
		t.Errorf("the process is %v", call.Resource)
	}
	if !strings.Contains(value(call, telemetry.AttrArguments), "Paris") || !strings.Contains(value(call, telemetry.AttrResult), "Paris") {
		t.Errorf("arguments or result are not in %v", call.Attributes)
	}
}

// The line of a request has the trace that Jaeger has.
func traceInLog(t *testing.T, d *deployment, a, _ *replica) {
	id := d.traced("ask", func(parent string) {
		callModern(t, a.url, "greet", `,"arguments":{"name":"Ada"}`, `,"traceparent":"`+parent+`"`).response()
	})
	call := only(t, d.jaeger.await(t, id, 4), "tools/call greet", trace.SpanKindServer)
	await.Until(t, "the line of the request", func() bool {
		text, err := os.ReadFile(d.log("a"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var got struct {
				Trace string `json:"trace_id"`
				Span  string `json:"span_id"`
			}
			if json.Unmarshal([]byte(line), &got) == nil && got.Trace == id && got.Span == call.SpanContext.SpanID().String() {
				return true
			}
		}
		return false
	})
}

// The exemplars of a replica's histograms lead to traces that Jaeger has.
func traceOfExemplars(t *testing.T, d *deployment, a, _ *replica) {
	d.traced("ask", func(parent string) {
		callModern(t, a.url, "greet", `,"arguments":{"name":"Ada"}`, `,"traceparent":"`+parent+`"`).response()
	})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.admin+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	exemplar := regexp.MustCompile(`gen_ai_tool_name="greet".* # \{.*trace_id="([0-9a-f]{32})"`)
	found := 0
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if m := exemplar.FindStringSubmatch(lines.Text()); m != nil {
			found++
			only(t, d.jaeger.await(t, m[1], 4), "tools/call greet", trace.SpanKindServer)
		}
	}
	if found == 0 {
		t.Error("no histogram of a's has an exemplar of greet")
	}
}

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
