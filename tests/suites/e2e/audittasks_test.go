package e2e

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// TestAuditOfTasks: a call that becomes a task has one decision, one outcome of the request, which says so, and one of the task, from the
// replica that ended it; they name the same call and task, and the id of the task is in none. Requests about a task have both, too.
func TestAuditOfTasks(t *testing.T) {
	t.Parallel() // it waits for most of its time
	for _, medium := range []string{"memory", "redis"} {
		t.Run(medium, func(t *testing.T) {
			_, backends, steps := stepping(t)
			dir, server := t.TempDir(), (*redisserver.Server)(nil)
			var edges []*harness.Edge
			var paths []string
			start := func() {
				path := filepath.Join(dir, fmt.Sprint(len(paths)))
				paths = append(paths, path)
				edges = append(edges, startEdge(t, backends, auditTo(path), func(c *config.Config) {
					if server != nil {
						c.Redis.URL = server.URL()
					}
				}))
			}
			if medium == "redis" {
				server = redisserver.ForTest(t)
				start()
			}
			start()
			first, last := edges[0], edges[len(edges)-1]
			legacy, modern := newSession(t, first.URL, vNov), modernTasker(t, first.URL)
			one, _ := dig(legacy.request("tools/call", `{"name":"steps","arguments":{},"task":{}}`).want(http.StatusOK).result(), "task", "taskId").(string)
			cancel := modernTasker(t, last.URL)
			steps <- struct{}{} // It runs, and was decided on.
			cancel.cancel(one)
			two := modern.begin("steps", `{}`)
			close(steps)
			await.Until(t, "the task to end", func() bool { return cancel.get(two)["status"] == "completed" })
			for _, e := range edges {
				e.End(t)
			}

			about := records(t, paths...)
			var got []recorded
			about = slices.DeleteFunc(about, func(r recorded) bool {
				if r.Method == "tools/call" {
					got = append(got, r)
				}
				return r.Method == "tools/call"
			})
			wantRecords(t, got,
				"allow   steps", " tools/call steps task", " tools/call steps cancelled",
				"allow   steps", " tools/call steps task", " tools/call steps ok")
			calls := map[string][]string{}
			for _, r := range got {
				if r.Event == "outcome" && !slices.Contains(calls[r.Call], r.Task) {
					calls[r.Call] = append(calls[r.Call], r.Task)
				}
				if r.Task == one || r.Task == two || (r.Task == "") != (r.Event == "decision") {
					t.Errorf("%+v names the task %q", r, r.Task)
				}
			}
			for _, want := range []string{"decision tasks/cancel steps", "outcome tasks/cancel steps", "decision tasks/get steps", "outcome tasks/get steps"} {
				if !slices.ContainsFunc(about, func(r recorded) bool {
					return r.Event+" "+r.Method+" "+r.Target == want && r.Task != "" && r.Task != one && r.Task != two
				}) {
					t.Errorf("no record %s that names the task, of %+v", want, about)
				}
			}
			for call, tasks := range calls {
				if len(tasks) != 1 {
					t.Errorf("the call %s has the tasks %v", call, tasks)
				}
			}
			if len(calls) != 2 {
				t.Errorf("the outcomes are of %d calls", len(calls))
			}
		})
	}
}
