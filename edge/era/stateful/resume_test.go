package stateful

import (
	"context"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

func TestBadEventIDs(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s, other := w.initialize(v1125), w.initialize(v1125)
		w.backend.tools["say"] = func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			return text("ok"), sink.Emit(ctx, progress(1))
		}
		x := w.post(w.a, s, callTool(1, "say"))
		for _, id := range []string{"nonsense", "a.b.c", "nope.1.0"} {
			w.wantKind(w.listen(w.a, s, id), mcp.KindBadEventID)
		}
		w.wantKind(w.listen(w.a, other, x.lastID()), mcp.KindBadEventID)
		after(10 * time.Minute)
		w.wantKind(w.listen(w.b, s, x.lastID()), mcp.KindBadEventID)
	})
}

func TestResumeTakesOverFromALostConnection(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["slow"] = func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			_ = sink.Emit(ctx, progress(1))
			time.Sleep(10 * time.Second)
			_ = sink.Emit(ctx, progress(2))
			return text("ok"), nil
		}
		x := w.post(w.a, s, callTool(1, "slow"))
		y := w.listen(w.a, s, x.lastID())
		if !x.ended() {
			t.Error("two connections follow one stream")
		}
		after(11 * time.Second)
		w.wantMessages(x, progressMessage(1))
		w.wantMessages(y, progressMessage(2), `{"jsonrpc":"2.0","id":1,"result":{"text":"ok"}}`)
	})
}

func TestSlowClientIsLetGo(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["slow"] = func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			_ = sink.Emit(ctx, progress(1))
			time.Sleep(time.Second)
			for i := range 2000 {
				if err := sink.Emit(ctx, progress(float64(i+2))); err != nil {
					return mcp.Reply{}, err
				}
			}
			return text("ok"), nil
		}
		x := w.post(w.a, s, callTool(1, "slow"))
		id := x.lastID()
		x.set(func() { x.broken = true })
		after(5 * time.Second)
		if !x.ended() {
			t.Fatal("a client that takes nothing is kept")
		}
		y := w.listen(w.a, s, id)
		msgs := y.messages()
		if n := len(msgs); n == 0 || msgs[n-1] != `{"jsonrpc":"2.0","id":1,"result":{"text":"ok"}}` || !y.ended() {
			t.Errorf("%d messages after the resume", n)
		}
	})
}

func TestRollbackReplaysWhatIsThere(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["say"] = func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			return text("ok"), sink.Emit(ctx, progress(1))
		}
		x := w.post(w.a, s, callTool(1, "say"))
		evs := x.all()
		beyond := evs[len(evs)-1].ID + "0" // an event that the log does not have (any more)
		y := w.listen(w.b, s, beyond)
		w.wantMessages(y, progressMessage(1), `{"jsonrpc":"2.0","id":1,"result":{"text":"ok"}}`)
		for _, ev := range y.all() {
			for _, old := range evs {
				if ev.ID == old.ID {
					t.Errorf("the id %s was used again", ev.ID)
				}
			}
		}
		if w.b.Counters().Rollbacks.Load() != 1 {
			t.Error("the loss was not counted")
		}
	})
}

// A store that is replaced twice loses the new epoch, too: what is there comes under one above what the client saw
// all the same, be it connected or back again.
func TestNoIDIsUsedAgainAfterTwoLosses(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		relapse := func() {
			w.faults.mu.Lock()
			defer w.faults.mu.Unlock()
			w.faults.relapse, w.faults.blind = true, 1
		}
		w.backend.tools["say"] = func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			_ = sink.Emit(ctx, progress(1))
			time.Sleep(time.Second)
			relapse()
			return text("ok"), sink.Emit(ctx, progress(2))
		}
		x := w.post(w.a, s, callTool(1, "say"))
		after(5 * time.Second)
		relapse()
		y := w.listen(w.a, s, x.lastID())
		after(5 * time.Second)
		seen := map[string]bool{}
		for _, ev := range append(x.all(), y.all()...) {
			if seen[ev.ID] {
				t.Errorf("the id %s was used again", ev.ID)
			}
			seen[ev.ID] = true
		}
		const done = `{"jsonrpc":"2.0","id":1,"result":{"text":"ok"}}`
		w.wantMessages(x, progressMessage(1), progressMessage(1), progressMessage(2), done)
		w.wantMessages(y, progressMessage(1), progressMessage(2), done)
	})
}
