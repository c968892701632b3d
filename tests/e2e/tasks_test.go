package e2e

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/await"
	"github.com/mcpedge/mcpedge/tests/harness"
	"github.com/mcpedge/mcpedge/tests/redisserver"
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
		edges[i] = startEdge(t, backends, func(c *config.Config) { c.Redis = server.URL() })
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
