package stateful

import (
	"context"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Events that come as fast as they can are on the stream in their order, before the response, and cost the
// store few writes.
func TestEventsThatWaitGoWithTheResponse(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		var events []string
		for i := range 20 {
			events = append(events, progressMessage(float64(i)))
		}
		w.backend.tools["burst"] = func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			for i := range 20 {
				if err := sink.Emit(ctx, progress(float64(i))); err != nil {
					return mcp.Reply{}, err
				}
			}
			return text("ok"), nil
		}
		x := w.post(w.a, s, callTool(1, "burst"))
		after(time.Second)
		w.wantMessages(x, append(events, `{"jsonrpc":"2.0","id":1,"result":{"text":"ok"}}`)...)
		w.faults.mu.Lock()
		defer w.faults.mu.Unlock()
		if w.faults.appends > 10 {
			t.Errorf("20 events that came at once took %d writes", w.faults.appends)
		}
	})
}

// Where no log can be begun what waits is dropped, and the response is the exchange's body.
func TestEventsThatWaitInVain(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["burst"] = func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			w.faults.set(true, false)
			for i := range 20 {
				if err := sink.Emit(ctx, progress(float64(i))); err != nil {
					return mcp.Reply{}, err
				}
			}
			return text("ok"), nil
		}
		x := w.post(w.a, s, callTool(1, "burst"))
		after(time.Second)
		w.wantBody(x, `{"jsonrpc":"2.0","id":1,"result":{"text":"ok"}}`)
		if n, waits := w.a.Counters().DroppedUnread.Load(), w.a.Counters().Queued.Load(); n != 20 || waits != 0 {
			t.Errorf("%d events were dropped and %d wait, want 20 and none", n, waits)
		}
	})
}
