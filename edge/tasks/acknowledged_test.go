package tasks

import (
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/state/redis"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// replicated returns a world on a Redis server whose replica must acknowledge tasks.
func replicated(t *testing.T) (w *world, replica *redisserver.Server) {
	t.Helper()
	master := redisserver.ForTest(t)
	replica = redisserver.ForTest(t, "--replicaof", "127.0.0.1", master.Addr[len("127.0.0.1:"):])
	client := goredis.NewClient(&goredis.Options{Addr: master.Addr})
	t.Cleanup(func() { _ = client.Close() })
	await.Until(t, "the replica of Redis", func() bool {
		return client.Set(t.Context(), "x", "", time.Second).Err() == nil && client.Wait(t.Context(), 1, time.Second).Val() == 1
	})
	open := func(h medium.Hooks) medium.Store {
		r, err := redis.New(client, redis.Options{Limits: limits(nil), Prefix: "test", Acknowledge: 1})
		if err != nil {
			t.Fatal(err)
		}
		s := r.Store(h)
		if err := r.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Close() })
		return s
	}
	return newWorld(t, open), replica
}

// TestUnacknowledgedIsNoTask: a task that too few replicas of Redis acknowledged is not begun, does
// not call its backend, and leaves no data. A call that may become a task continues without one and
// returns its result. It becomes a task once the replicas are available again.
func TestUnacknowledgedIsNoTask(t *testing.T) {
	w, replica := replicated(t)
	w.backend.tools["gate"] = w.backend.gated(atOnce, true)
	w.backend.tools["later"] = w.backend.gated(later, true)
	w.backend.tools["required"] = w.backend.gated(mcp.TaskSupport{Required: true}, true)
	a, b := w.replica(), w.replica()
	var first string
	await.Until(t, "a task that is acknowledged, for which a busy machine may need longer than it is waited for", func() bool {
		out, err := a.ask(modern, "alice", mcp.MethodToolsCall, `"name":"gate","arguments":{"name":"kept"}`)
		if err != nil && kindOf(err) != mcp.KindStateUnavailable {
			t.Fatal(err)
		}
		first, _ = out["taskId"].(string)
		return first != ""
	})
	a.counters.Unacknowledged.Store(0)
	if err := replica.Pause(); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the first task to run", func() bool { return w.backend.running.Load() == 1 })
	ran := w.backend.ran.Load()
	if _, err := a.ask(modern, "alice", mcp.MethodToolsCall, `"name":"gate","arguments":{"name":"not kept"}`); kindOf(err) != mcp.KindStateUnavailable {
		t.Errorf("without the replica: %v", err)
	}
	if n := a.counters.Unacknowledged.Load(); n != 1 {
		t.Errorf("%d were counted, want 1", n)
	}
	only := func(want string) {
		t.Helper()
		await.Until(t, "nothing but the task "+want+" to be there", func() bool {
			ids, _ := lists("alice", b)
			return len(ids) == 1 && ids[0] == want
		})
	}
	only(first)
	if w.backend.ran.Load() != ran {
		t.Error("the backend was called for a task that was not made")
	}

	plainly := make(chan map[string]any, 2)
	for _, tool := range []string{"later", "required"} {
		go func() {
			out, err := a.ask(modern, "alice", mcp.MethodToolsCall, `"name":"`+tool+`","arguments":{"name":"`+tool+`"}`)
			if err != nil {
				t.Error(err)
			}
			plainly <- out
		}()
		await.Until(t, "the calls to be tried as tasks", func() bool { return a.counters.Unacknowledged.Load() > 2 })
		close(w.backend.gate(tool))
		if got := await.Receive(t, "its answer", plainly); got["resultType"] != "complete" {
			t.Errorf("the tool %s gave %v, want its result", tool, got)
		}
		only(first)
		a.counters.Unacknowledged.Store(0)
	}

	go func() {
		out, _ := a.ask(modern, "alice", mcp.MethodToolsCall, `"name":"later","arguments":{"name":"back"}`)
		plainly <- out
	}()
	await.Until(t, "the call to be tried as a task", func() bool { return a.counters.Unacknowledged.Load() > 0 })
	if err := replica.Resume(); err != nil {
		t.Fatal(err)
	}
	made := await.Receive(t, "the task", plainly)
	id, _ := made["taskId"].(string)
	close(w.backend.gate("back"))
	if got := text(b.awaits(id, Completed)); got != "passed back" {
		t.Errorf("got %q of %v", got, made)
	}
	close(w.backend.gate("kept"))
	b.awaits(first, Completed)
}
