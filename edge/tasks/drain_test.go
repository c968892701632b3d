package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// TestDrainWaitsForTheStore: a drain does not leave a task whose run has ended and whose end the store has
// not acknowledged. The next replica would end it with an unknown outcome.
func TestDrainWaitsForTheStore(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["unsafe"] = w.backend.gated(atOnce, false)
		a, b := w.replica(), w.replica()
		id := a.begin("unsafe", "unsafe")
		await.Until(t, "the task to run", func() bool { return w.backend.running.Load() == 1 })
		a.cut.writeless.Store(true)
		close(w.backend.gate("unsafe"))
		written := func(n int64) {
			t.Helper()
			n += a.cut.unwritten.Load()
			await.Until(t, "attempts to write the end", func() bool { return a.cut.unwritten.Load() >= n })
		}
		written(1)
		drained := make(chan error, 1)
		go func() { drained <- a.Drain(context.Background()) }()
		await.Receive(t, "the drain to begin", a.calls.Draining())
		written(3)
		select {
		case err := <-drained:
			t.Fatalf("drained while the store did not have the end of a task: %v", err)
		default:
		}
		a.cut.writeless.Store(false)
		if err := await.Receive(t, "the drain", drained); err != nil {
			t.Fatal(err)
		}
		a.Close()
		if got := text(b.awaits(id, Completed)); got != "passed unsafe" {
			t.Errorf("got %q", got)
		}
	})
}

// TestDrainWaitsForApprovalsThatExpire: a tasks/result that waits keeps no drain waiting, but does so while it ends the task's wait for an
// approval: this replica owns the task afterwards.
func TestDrainWaitsForApprovalsThatExpire(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		pays := approved()
		w.backend.tools["pay"] = tool{pays.support, false, func(ctx context.Context, c *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			reply, err := pays.run(ctx, c, sink)
			if reply.Input != nil {
				reply.Input.Requests[0].Params, err = json.Marshal(mcp.Approval{Names: []string{"a"}, Requester: c.Principal, Expires: time.Now().Add(100 * time.Millisecond)})
			}
			return reply, err
		}}
		open := w.open
		interrupt := func(before func()) *replica {
			store := new(interrupted)
			store.before.Store(&before)
			w.open = func(h medium.Hooks) medium.Store { store.Store = open(h); return store }
			return w.replica(approving)
		}
		release := make(chan struct{})
		a := interrupt(func() { <-release }) // It would end the wait before b.
		defer close(release)
		drained := make(chan error, 1)
		var b *replica
		b = interrupt(func() {
			over, cancel := context.WithCancel(t.Context())
			cancel()
			drained <- b.Drain(over)
		})
		id := a.begin("pay", "x")
		result := make(chan error, 1)
		go func() {
			_, err := b.ask(legacy, "alice", mcp.MethodTasksResult, about(id))
			result <- err
		}()
		if err := await.Receive(t, "a drain while b ends the wait", drained); !errors.Is(err, context.Canceled) {
			t.Errorf("the drain has not waited: %v", err)
		}
		if err := await.Receive(t, "the result", result); err != nil {
			t.Error(err)
		}
	})
}
