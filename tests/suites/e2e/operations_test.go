package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/reflect/reflecttest"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// withTasks are the capabilities of a client of 2026-07-28 that has tasks.
const withTasks = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`

// tasker is a client of either era that makes tasks of calls.
type tasker struct {
	// begin calls a tool, which has to make a task, get tells how a task is, end gives the outcome of one that has ended.
	begin  func(tool, arguments string) (id string)
	get    func(id string) map[string]any
	end    func(id string) message
	cancel func(id string)
}

func modernTasker(t *testing.T, url string) tasker {
	c := newStateless(t, url, withTasks)
	about := func(method, id string) map[string]any {
		return c.request(method, map[string]any{"taskId": id}).want(http.StatusOK).result()
	}
	return tasker{
		begin: func(tool, arguments string) string {
			made := c.call(tool, arguments).want(http.StatusOK).result()
			id, _ := made["taskId"].(string)
			if made["resultType"] != "task" || id == "" {
				t.Fatalf("%s made no task: %v", tool, made)
			}
			return id
		},
		get: func(id string) map[string]any { return about("tasks/get", id) },
		end: func(id string) message {
			m := c.request("tasks/get", map[string]any{"taskId": id}).want(http.StatusOK)
			task := object(t, m.json().Result)
			return parse(t, []byte(`{"jsonrpc":"2.0","id":1,`+outcome(t, task)+`}`))
		},
		cancel: func(id string) { about("tasks/cancel", id) },
	}
}

// outcome is the result or error of a task as a member of a response.
func outcome(t *testing.T, task map[string]any) string {
	for _, member := range []string{"result", "error"} {
		if v, ok := task[member]; ok {
			raw, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			return `"` + member + `":` + string(raw)
		}
	}
	t.Fatalf("the task has neither result nor error: %v", task)
	return ""
}

func legacyTasker(t *testing.T, url string) tasker {
	s := newSession(t, url, vNov)
	about := func(method, id string) *reply {
		return s.request(method, `{"taskId":"`+id+`"}`).want(http.StatusOK)
	}
	return tasker{
		begin: func(tool, arguments string) string {
			made := s.request("tools/call", `{"name":"`+tool+`","arguments":`+arguments+`,"task":{}}`).want(http.StatusOK).result()
			id, _ := dig(made, "task", "taskId").(string)
			if id == "" {
				t.Fatalf("%s made no task: %v", tool, made)
			}
			return id
		},
		get:    func(id string) map[string]any { return about("tasks/get", id).result() },
		end:    func(id string) message { return about("tasks/result", id).final() },
		cancel: func(id string) { about("tasks/cancel", id).result() },
	}
}

// awaits waits until a task has a status.
func (c tasker) awaits(t *testing.T, id, status string) {
	t.Helper()
	await.Until(t, "the task to be "+status, func() bool { return c.get(id)["status"] == status })
}

// taskers are clients of both eras.
var taskers = map[string]func(*testing.T, string) tasker{v2026: modernTasker, vNov: legacyTasker}

// harvestEdges are two replicas before a service with long-running operations.
func harvestEdges(t *testing.T) (*reflecttest.Harvest, *pair) {
	t.Helper()
	h := reflecttest.NewHarvest()
	s := h.Serve(t, reflecttest.Options{})
	return h, startPairBefore(t, []config.Backend{{Name: "harvest", Target: s.Addr, Kind: config.KindReflect}},
		func(c *config.Config) { c.Tasks.After = 100 * time.Millisecond })
}

// TestOperationsAreTasks: a call whose method gives a google.longrunning.Operation is a task in both eras, of which the service
// knows nothing: metadata are its status, response and error its outcome, and a cancellation cancels the operation.
func TestOperationsAreTasks(t *testing.T) {
	t.Parallel() // it waits for most of its time
	h, edges := harvestEdges(t)
	for version, client := range taskers {
		t.Run(version, func(t *testing.T) {
			c, elsewhere := client(t, edges.first.URL), client(t, edges.second.URL)
			field := func(name string) (field, arguments string) {
				field = name + version
				return field, `{"field":"` + field + `"}`
			}
			good, arguments := field("good")
			h.Rows(good, 1)
			id := c.begin("harvest_pick", arguments)
			for _, rows := range []string{`"rows":1`, `"rows":2`} {
				await.Until(t, "the status "+rows, func() bool {
					said, _ := c.get(id)["statusMessage"].(string)
					return strings.Contains(said, rows)
				})
				h.Rows(good, 2)
			}
			h.Finish(good, 5)
			elsewhere.awaits(t, id, "completed")
			if got := dig(c.end(id).result(t), "structuredContent", "kilos"); got != 5.0 {
				t.Errorf("it gave %v", got)
			}

			bad, arguments := field("bad")
			id = c.begin("harvest_walk", arguments)
			h.Fail(bad, code.Code_INTERNAL, "a bug")
			c.awaits(t, id, "failed")
			c.end(id).wantError(t, -32603)

			told, arguments := field("told")
			id = c.begin("harvest_clear", arguments)
			h.Fail(told, code.Code_FAILED_PRECONDITION, "no rain")
			await.Until(t, "the task to end", func() bool { return c.get(id)["status"] != "working" })
			if got := c.end(id).result(t); got["isError"] != true || !strings.Contains(text(t, got), "FAILED_PRECONDITION: no rain") {
				t.Errorf("it ended with %v", got)
			}

			unwanted, arguments := field("unwanted")
			id = c.begin("harvest_pick", arguments)
			for began := ""; began != unwanted; { // A task that is cancelled before its call runs begins nothing.
				began = await.Receive(t, "the operation to begin", h.Began)
			}
			elsewhere.cancel(id)
			if got := await.Receive(t, "the operation to be cancelled", h.Cancelled); got != unwanted {
				t.Errorf("%s was cancelled", got)
			}
			if got := c.get(id)["status"]; got != "cancelled" {
				t.Errorf("the task is %v", got)
			}
		})
	}
}

// TestOperationTakenOver: when the replica is lost that follows an operation, another one does; the method is called once.
func TestOperationTakenOver(t *testing.T) {
	t.Parallel() // it waits for most of its time
	for version, client := range taskers {
		t.Run(version, func(t *testing.T) {
			h, edges := harvestEdges(t)
			c, other := client(t, edges.first.URL), client(t, edges.second.URL)
			id := c.begin("harvest_pick", `{"field":"far`+version+`"}`)
			await.Until(t, "the operation to be asked about", func() bool { return h.Asked("far"+version) > 0 })
			edges.lose()
			h.Rows("far"+version, 9)
			await.Until(t, "the other replica to tell of it", func() bool {
				said, _ := other.get(id)["statusMessage"].(string)
				return strings.Contains(said, `"rows":9`)
			})
			h.Finish("far"+version, 6)
			other.awaits(t, id, "completed")
			if got := dig(other.end(id).result(t), "structuredContent", "kilos"); got != 6.0 {
				t.Errorf("it gave %v", got)
			}
			if got := await.Receive(t, "the operation", h.Began); got != "far"+version || len(h.Began) > 0 {
				t.Errorf("%s began, and %d more", got, len(h.Began))
			}
		})
	}
}

// TestOperationWithoutTasks: a client that cannot have tasks waits for the outcome, and hears of the metadata as progress. When
// it leaves, the operation is cancelled.
func TestOperationWithoutTasks(t *testing.T) {
	h := reflecttest.NewHarvest()
	s := h.Serve(t, reflecttest.Options{})
	e := startEdge(t, []config.Backend{{Name: "harvest", Target: s.Addr, Kind: config.KindReflect}})
	h.Rows("a", 3)
	stream := newSession(t, e.URL, vNov).callWithProgress("harvest_pick", `{"field":"a"}`, "p").events()
	if got := dig(object(t, stream.awaitMethod("notifications/progress").Params), "message"); got != `{"field":"a","rows":3}` {
		t.Errorf("told: %v", got)
	}
	h.Finish("a", 8)
	if got := dig(stream.message().result(t), "structuredContent", "kilos"); got != 8.0 {
		t.Errorf("it gave %v", got)
	}
	c := newStateless(t, e.URL)
	c.progress = `"q"`
	h.Rows("b", 1)
	left := c.call("harvest_pick", `{"field":"b"}`).events()
	left.awaitMethod("notifications/progress")
	left.close()
	if got := await.Receive(t, "the operation to be cancelled", h.Cancelled); got != "b" {
		t.Errorf("%s was cancelled", got)
	}
}

// TestOperationOutlivesItsService: a service that is deployed anew while its operation runs is asked again when it is back.
func TestOperationOutlivesItsService(t *testing.T) {
	h := reflecttest.NewHarvest()
	s := h.Serve(t, reflecttest.Options{})
	e := startEdge(t, []config.Backend{{Name: "harvest", Target: s.Addr, Kind: config.KindReflect}})
	c := legacyTasker(t, e.URL)
	id := c.begin("harvest_pick", `{"field":"a"}`)
	await.Until(t, "the operation to be asked about", func() bool { return h.Asked("a") > 0 })
	s.GRPC.Stop()
	asker := newSession(t, e.URL, vNov)
	await.Until(t, "the edge to miss the service", func() bool {
		return asker.call("operations_get_operation", `{"name":"operations/a"}`).final().Error != nil
	})
	h.Serve(t, reflecttest.Options{Addr: s.Addr})
	h.Finish("a", 2)
	c.awaits(t, id, "completed")
	if got := dig(c.end(id).result(t), "structuredContent", "kilos"); got != 2.0 {
		t.Errorf("it gave %v", got)
	}
}
