package tasks

import (
	"context"
	"testing"

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
