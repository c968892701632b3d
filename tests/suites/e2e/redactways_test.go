package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// spilled is what a spilling backend says, and no client sends.
const spilled = "4111111111111111"

// newSpilling is a backend that has a secret and says it.
func newSpilling() *capability.Server {
	s := capability.New("spilling", "1.0.0")
	spill := func(_ context.Context, c *capability.Call, _ struct{}) (*capability.Result, error) {
		c.Progress(1, 2, "at "+spilled)
		c.Log(capability.LevelWarning, "of "+spilled, map[string]any{spilled: spilled})
		return &capability.Result{
			Content: []*capability.Content{capability.Text("spilled " + spilled)}, Structured: json.RawMessage(`{"n":` + spilled + `}`),
			Meta: json.RawMessage(`{"example.com/n":4.111111111111111e15}`),
		}, nil
	}
	crash := func(context.Context, *capability.Call, struct{}) (string, error) {
		return "", &capability.Failure{Reason: capability.Internal, Message: "crashed at " + spilled, Data: json.RawMessage(`{"at":"` + spilled + `"}`)}
	}
	capability.AddTool(s, "spill", "Spills", spill)
	capability.AddTool(s, "crash", "Crashes", crash)
	capability.AddTool(s, "spill_task", "Spills", spill, capability.Tasks(capability.TaskRequired))
	capability.AddTool(s, "crash_task", "Crashes", crash, capability.Tasks(capability.TaskRequired))
	capability.AddTool(s, "model", "Asks a model", func(_ context.Context, c *capability.Call, _ struct{}) (string, error) {
		c.Sample("m", &capability.SamplingRequest{
			SystemPrompt: "You know " + spilled, MaxTokens: 10, StopSequences: []string{spilled}, MetadataJson: `{"of":"` + spilled + `"}`,
			Messages: []*capability.SamplingMessage{capability.SamplingText(capability.User, "What is "+spilled+"?")},
		})
		return "asked", nil
	})
	return s
}

// masked fails if a text has the secret of newSpilling, or nothing in its place.
func masked(t *testing.T, where, text string) {
	t.Helper()
	if strings.Contains(text, spilled) || strings.Contains(text, "4.111111111111111e15") || !strings.Contains(text, "[REDACTED:cards]") {
		t.Errorf("%s has %s", where, text)
	}
}

func redactCards(c *config.Config) {
	c.Redact = []config.Redaction{{Name: "cards", Pattern: "card"}}
}

// TestRedactTasks: what is said of a task, on each replica and in Redis, was redacted.
func TestRedactTasks(t *testing.T) {
	server := redisserver.ForTest(t)
	backends := only(startService(t, newSpilling()))
	var edges [2]*harness.Edge
	for i := range edges {
		edges[i] = startEdge(t, backends, redactCards, func(c *config.Config) { c.Redis.URL = server.URL() })
	}
	here := newSession(t, edges[0].URL, vNov)
	there := here.at(edges[1])
	notified := there.get("").want(http.StatusOK).events()
	for tool, status := range map[string]string{"spill_task": "completed", "crash_task": "failed"} {
		made := here.request("tools/call", `{"name":"`+tool+`","arguments":{},"task":{},"_meta":{"progressToken":"p"}}`).want(http.StatusOK)
		id, _ := dig(made.result(), "task", "taskId").(string)
		var heard strings.Builder
		for !strings.Contains(heard.String(), `"status":"`+status+`"`) {
			heard.Write(notified.message().raw)
		}
		masked(t, "the stream of notifications of "+tool, heard.String())
		params := `{"taskId":"` + id + `"}`
		masked(t, "tasks/result of "+tool, string(there.request("tasks/result", params).want(http.StatusOK).final().raw))
		if got := whole(there.request("tasks/get", params)); strings.Contains(got, spilled) || !strings.Contains(got, status) {
			t.Errorf("tasks/get of %s gave %s", tool, got)
		}
	}

	modern, elsewhere := modernTasker(t, edges[0].URL), modernTasker(t, edges[1].URL)
	for tool, status := range map[string]string{"spill_task": "completed", "crash_task": "failed"} {
		id := modern.begin(tool, "{}")
		await.Until(t, "the task ends", func() bool { return elsewhere.get(id)["status"] == status })
		masked(t, "the task "+tool+" of 2026-07-28", fmt.Sprint(elsewhere.get(id)))
	}
	admin := newOperator(t, edges[1]).get("/v1/tasks").want(http.StatusOK).text
	masked(t, "the tasks for operators", admin)

	stream := here.callWithProgress("spill", "{}", "p").events()
	stream.awaitMethod("notifications/progress")
	masked(t, "a stream that is resumed elsewhere", whole(there.get(stream.lastID)))
	masked(t, "Redis", dump(t, server.Addr))
	for i, e := range edges {
		if log := e.Log.String(); strings.Contains(log, spilled) {
			t.Errorf("the log of replica %d has %s", i, log)
		}
	}
}

// TestRedactTransports: a client gets no secret over HTTP+SSE, stdio and the REST API.
func TestRedactTransports(t *testing.T) {
	harness.OneProcess(t)
	backends := only(startService(t, newSpilling()))
	e := startEdge(t, backends, redactCards)
	sse := newSSE(t, e, "/sse")
	for _, tool := range []string{"spill", "crash"} {
		params := `{"name":"` + tool + `","arguments":{},"_meta":{"progressToken":"p"}}`
		masked(t, tool+" over SSE", sse.whole("tools/call", params))
		for _, version := range []string{vNov, v2026} {
			cfg := harness.Config(backends...)
			redactCards(&cfg)
			masked(t, tool+" over stdio", newStdio(t, cfg, version).whole("tools/call", params))
		}
		masked(t, tool+" over the REST API", newOperator(t, e).post("/v1/tools/"+tool+":call", `{"arguments":{}}`).text)
	}
}

// TestRedactSampling: the client's model is not asked about a secret.
func TestRedactSampling(t *testing.T) {
	e := startEdge(t, only(startService(t, newSpilling())), redactCards)
	for _, version := range stateful {
		s := newSession(t, e.URL, version)
		stream := s.call("model", "{}").events()
		asked := stream.awaitMethod("sampling/createMessage")
		masked(t, version, string(asked.raw))
		s.answer(asked, answers["sampling/createMessage"])
		if got := text(t, stream.message().result(t)); got != "asked" {
			t.Errorf("%s: the call gave %q", version, got)
		}
	}
	c := newStateless(t, e.URL)
	asked := c.call("model", "{}")
	masked(t, v2026, string(asked.body))
	if got := c.call("model", "{}", retry(t, asked.result(), `{"m":`+answers["sampling/createMessage"]+`}`)).text(); got != "asked" {
		t.Errorf("the call gave %q", got)
	}
}
