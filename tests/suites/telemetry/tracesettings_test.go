//go:build jaeger

package telemetry

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/telemetry"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

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
		"OTEL_SERVICE_NAME=front", "OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=test", "OTEL_TRACES_SAMPLER=always_on", "MCPEDGE_TELEMETRY_TRACE_CONTENT=true",
	})
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
