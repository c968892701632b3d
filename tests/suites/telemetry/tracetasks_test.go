//go:build jaeger

package telemetry

import (
	"encoding/json"
	"net/http"
	"regexp"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/telemetry"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

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
	request := only(t, spans, "tools/call confirm_delete", trace.SpanKindServer).SpanContext.SpanID()
	if len(rounds) != 2 || linked(spans, telemetry.ReasonContinued) != request || linked(spans, telemetry.ReasonAnswered) != request {
		t.Errorf("the runs are not both linked to the request that made the task:\n%s", tree(spans))
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
