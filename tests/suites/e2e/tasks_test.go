package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// stepping is a backend with a tool that may be a task and makes a step of progress for each value of steps, until that is closed.
func stepping(t *testing.T) (s *capability.Server, backends []config.Backend, steps chan struct{}) {
	t.Helper()
	s = capability.New("steps", "1.0.0")
	steps = make(chan struct{})
	capability.AddTool(s, "steps", "Makes steps", func(ctx context.Context, c *capability.Call, _ struct{}) (string, error) {
		for n := 1; ; n++ {
			select {
			case _, more := <-steps:
				if !more {
					return "done", nil
				}
				c.Progress(float64(n), 3, fmt.Sprint("step ", n))
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
	}, capability.Tasks(capability.TaskOptional))
	return s, only(startService(t, s)), steps
}

// TestTasksAreTold: a session hears on its own stream of the task that it made, and of its progress, wherever the stream and the task are,
// and hears of it again when it comes back with another stream; once it has heard the end, no more.
func TestTasksAreTold(t *testing.T) {
	server := redisserver.ForTest(t)
	backend, backends, steps := stepping(t)
	edges := make([]*harness.Edge, 3)
	for i := range edges {
		edges[i] = startEdge(t, backends, func(c *config.Config) { c.Redis.URL = server.URL() })
	}
	s := newSession(t, edges[0].URL, vNov)
	first := s.get("").want(http.StatusOK).events()
	made := s.at(edges[1]).request("tools/call", `{"name":"steps","arguments":{},"task":{},"_meta":{"progressToken":7}}`).want(http.StatusOK)
	id, _ := dig(made.result(), "task", "taskId").(string)
	if id == "" {
		t.Fatal("there is no task")
	}
	progressed := func(s *stream, want float64) {
		t.Helper()
		if got := object(t, s.awaitMethod("notifications/progress").Params); got["progressToken"] != 7.0 || got["progress"] != want || got["message"] != fmt.Sprint("step ", want) {
			t.Errorf("told %v, want step %v", got, want)
		}
	}
	is := func(s *stream, status, message string) {
		t.Helper()
		for {
			got := object(t, s.awaitMethod("notifications/tasks/status").Params)
			if got["taskId"] != id {
				t.Errorf("told of the task %v", got["taskId"])
			}
			if said, _ := got["statusMessage"].(string); got["status"] == status && said == message {
				return
			}
		}
	}
	steps <- struct{}{}
	progressed(first, 1)
	is(first, "working", "step 1")
	first.close()

	again := s.at(edges[2]).get("").want(http.StatusOK).events()
	is(again, "working", "step 1")
	steps <- struct{}{}
	progressed(again, 2)
	is(again, "working", "step 2")
	close(steps)
	is(again, "completed", "step 2")

	tries := 0
	await.Until(t, "a stream that is told of no task", func() bool {
		tries++
		next := s.at(edges[0]).get("").want(http.StatusOK).events()
		capability.AddTool(backend, fmt.Sprint("late", tries), "Comes late",
			func(context.Context, *capability.Call, struct{}) (string, error) { return "", nil })
		m := next.message()
		return m.Method == "notifications/tools/list_changed"
	})
}

// TestTasksOfOperators: the REST API lists, shows and cancels tasks, at whichever replica they run, and tells nothing of what was said.
func TestTasksOfOperators(t *testing.T) {
	server := redisserver.ForTest(t)
	backend, backends, steps := stepping(t)
	capability.AddTool(backend, "ask", "Asks", func(_ context.Context, c *capability.Call, _ struct{}) (string, error) {
		answer, err := capability.Ask[struct {
			Name string `json:"name"`
		}](c, "name", "Whose?")
		return answer.Name, err
	}, capability.Tasks(capability.TaskOptional))
	var edges [2]*harness.Edge
	for i := range edges {
		edges[i] = startEdge(t, backends, func(c *config.Config) { c.Redis.URL = server.URL() })
	}
	s, o := newSession(t, edges[0].URL, vNov), newOperator(t, edges[1])
	begin := func(tool string) string {
		t.Helper()
		made := s.request("tools/call", `{"name":"`+tool+`","arguments":{},"task":{}}`).want(http.StatusOK)
		id, _ := dig(made.result(), "task", "taskId").(string)
		return id
	}
	working, asks := begin("steps"), begin("ask")
	steps <- struct{}{}
	await.Until(t, "the tasks to be as they will be", func() bool {
		return o.get("/v1/tasks/"+working).at("task", "statusMessage") == "step 1" && o.get("/v1/tasks/"+asks).at("task", "status") == "input_required"
	})
	if ids, _ := o.names("/v1/tasks", "tasks", "id"); len(ids) != 2 || !slices.Contains(ids, working) || !slices.Contains(ids, asks) {
		t.Errorf("listed %v, want %s and %s", ids, working, asks)
	}
	got := o.get("/v1/tasks/" + asks).want(http.StatusOK)
	if got.at("task", "tool") != "ask" || got.at("task", "revision") != vNov || got.at("task", "questions", 0, "method") != "elicitation/create" ||
		strings.Contains(got.text, "Whose?") {
		t.Errorf("it is told that %s", got.text)
	}
	if got := o.post("/v1/tasks/"+working+":cancel", "{}").want(http.StatusOK); got.at("task", "status") != "cancelled" {
		t.Errorf("cancelled, it is %s", got.text)
	}
	await.Until(t, "the backend to be free", func() bool {
		select {
		case steps <- struct{}{}:
			return false
		default:
			return dig(s.request("tasks/get", `{"taskId":"`+working+`"}`).result(), "status") == "cancelled"
		}
	})
	if got := o.post("/v1/tasks/"+working+":cancel", "{}").want(http.StatusOK); got.at("task", "status") != "cancelled" {
		t.Errorf("cancelled again, it is %s", got.text)
	}
	for _, path := range []string{"/v1/tasks/nobody", "/v1/tasks/" + s.id} {
		if got := o.get(path).want(http.StatusNotFound); !strings.Contains(got.text, "GET /v1/tasks lists") {
			t.Errorf("%s: %s", path, got.text)
		}
	}
	o.get("/v1/tasks?pageSize=1001").want(http.StatusBadRequest)
	o.get("/v1/tasks?pageToken=x").want(http.StatusBadRequest)
}
