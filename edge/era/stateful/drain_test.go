package stateful

import (
	"context"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

func stateAnswer(result string) state.Answer { return state.Answer{Result: []byte(result)} }

func sleepy(d time.Duration) tool {
	return func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
		_ = sink.Emit(ctx, progress(1))
		select {
		case <-time.After(d):
			return text("late"), nil
		case <-ctx.Done():
			return mcp.Reply{}, mcp.Errorf(mcp.KindCancelled, "cancelled")
		}
	}
}

func TestDrain(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		w.backend.tools["slow"] = sleepy(5 * time.Second)
		old, young := w.initialize(v0618), w.initialize(v1125)
		stays, comesBack := w.post(w.a, old, callTool(1, "slow")), w.post(w.a, young, callTool(1, "slow"))
		standalone := w.listen(w.a, young, "")
		drained := make(chan error, 1)
		go func() { drained <- w.a.Drain(t.Context()) }()
		after(time.Millisecond)
		if !standalone.ended() || !comesBack.ended() || stays.ended() {
			t.Errorf("ended: standalone %t, resumable %t, other %t", standalone.ended(), comesBack.ended(), stays.ended())
		}
		evs := comesBack.all()
		last := evs[len(evs)-1]
		if last.Retry != time.Second || last.ID == "" || len(last.Data) != 0 {
			t.Errorf("the last event is %+v", last)
		}
		y := w.listen(w.b, young, last.ID)
		w.wantKind(w.listen(w.a, young, ""), mcp.KindUnavailable)
		w.wantKind(w.post(w.a, young, callTool(3, "echo")), mcp.KindNone)
		after(4 * time.Second)
		if len(drained) != 0 {
			t.Error("drained while calls run")
		}
		after(2 * time.Second)
		if err := <-drained; err != nil {
			t.Error(err)
		}
		w.wantMessages(y, `{"jsonrpc":"2.0","id":1,"result":{"text":"late"}}`)
		w.wantMessages(stays, progressMessage(1), `{"jsonrpc":"2.0","id":1,"result":{"text":"late"}}`)
		w.a.Close()
		w.wantKind(w.post(w.a, young, callTool(4, "echo")), mcp.KindUnavailable)
		w.wantKind(w.end(w.a, young), mcp.KindUnavailable)
		w.wantKind(w.listen(w.a, young, ""), mcp.KindUnavailable)
	})
}

func TestCloseLeavesCallsToOthers(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["safe"] = sleepy(5 * time.Second)
		w.backend.tools["mute"] = func(ctx context.Context, _ *mcp.Call, _ mcp.Sink) (mcp.Reply, error) {
			<-ctx.Done()
			return mcp.Reply{}, mcp.Errorf(mcp.KindCancelled, "cancelled")
		}
		x, direct := w.post(w.a, s, callTool(1, "safe")), w.post(w.a, s, callTool(2, "mute"))
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := w.a.Drain(ctx); err == nil {
			t.Error("drained while a call runs")
		}
		w.a.Close()
		after(time.Millisecond)
		w.wantKind(direct, mcp.KindUnavailable)
		if !x.ended() {
			t.Error("a stream outlives its replica")
		}
		y := w.listen(w.b, s, x.lastID())
		after(10 * time.Second)
		w.wantMessages(y, `{"jsonrpc":"2.0","id":1,"result":{"text":"late"}}`)
	})
}
