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

// TestDrain: the streams of calls run to their end in every revision, because common clients do not
// resume them. The standalone streams are closed afterwards.
func TestDrain(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		w.backend.tools["slow"], w.backend.tools["ask"] = sleepy(5*time.Second), asking(elicit("name"))
		old, young := w.initialize(v0618), w.initialize(v1125)
		calls := []*client{
			w.post(w.a, old, callTool(1, "slow")), w.post(w.a, young, callTool(1, "slow")), w.post(w.b, young, callTool(2, "ask")),
		}
		ids, _ := asked(t, calls[2])
		calls[2].cancel()
		calls[2] = w.listen(w.a, young, calls[2].lastID()) // the stream of a parked call
		standalone, bare := w.listen(w.a, young, ""), w.listen(w.a, old, "")
		drained := make(chan error, 1)
		go func() { drained <- w.drain(time.Minute) }()
		after(4 * time.Second)
		for i, x := range append(calls, standalone, bare) {
			if x.ended() {
				t.Errorf("stream %d has ended with %+v", i, x.all())
			}
		}
		w.wantKind(w.listen(w.a, w.initialize(v1125), ""), mcp.KindUnavailable)
		w.wantKind(w.post(w.a, young, callTool(3, "echo")), mcp.KindNone)
		after(2 * time.Second)
		if !calls[0].ended() || !calls[1].ended() || calls[2].ended() || standalone.ended() || len(drained) != 0 {
			t.Errorf("ended: %t, %t, waiting %t, standalone %t, drained %t",
				calls[0].ended(), calls[1].ended(), calls[2].ended(), standalone.ended(), len(drained) != 0)
		}
		w.wantAccepted(w.post(w.b, young, answer(ids[0], `{}`)))
		after(2 * time.Second)
		if err := <-drained; err != nil {
			t.Error(err)
		}
		w.wantMessages(calls[0], progressMessage(1), `{"jsonrpc":"2.0","id":1,"result":{"text":"late"}}`)
		w.wantMessages(calls[1], progressMessage(1), `{"jsonrpc":"2.0","id":1,"result":{"text":"late"}}`)
		w.wantMessages(calls[2], `{"jsonrpc":"2.0","id":2,"result":{"text":"round 2 state memory name={}"}}`)
		for _, x := range calls {
			for _, ev := range x.all()[1:] {
				if ev.Retry != 0 {
					t.Errorf("a client was asked to come back: %+v", ev)
				}
			}
		}
		if evs := standalone.all(); !standalone.ended() || len(evs) == 0 || evs[len(evs)-1].Retry != time.Second || evs[len(evs)-1].ID != "" {
			t.Errorf("the standalone stream ended %t with %+v", standalone.ended(), evs)
		}
		if evs := bare.all(); !bare.ended() || len(evs) != 0 {
			t.Errorf("the standalone stream of %s ended %t with %+v", v0618, bare.ended(), evs)
		}
		w.a.Close()
		w.wantKind(w.post(w.a, young, callTool(4, "echo")), mcp.KindUnavailable)
		w.wantKind(w.end(w.a, young), mcp.KindUnavailable)
		w.wantKind(w.listen(w.a, young, ""), mcp.KindUnavailable)
	})
}

// TestEndOfTheGrace: shortly before the end of the grace period, a stream that its client can
// resume is closed after an event id.
func TestEndOfTheGrace(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		w.backend.tools["slow"] = sleepy(15 * time.Second)
		old, young := w.initialize(v0618), w.initialize(v1125)
		stays, comesBack := w.post(w.a, old, callTool(1, "slow")), w.post(w.a, young, callTool(1, "slow"))
		standalone := w.listen(w.a, young, "")
		drained := make(chan error, 1)
		go func() { drained <- w.drain(10 * time.Second) }()
		after(9*time.Second - time.Millisecond)
		if comesBack.ended() || stays.ended() || standalone.ended() {
			t.Errorf("ended: resumable %t, other %t, standalone %t", comesBack.ended(), stays.ended(), standalone.ended())
		}
		after(2 * time.Millisecond)
		if !comesBack.ended() || stays.ended() || !standalone.ended() {
			t.Errorf("ended: resumable %t, other %t, standalone %t", comesBack.ended(), stays.ended(), standalone.ended())
		}
		evs := comesBack.all()
		last := evs[len(evs)-1]
		if last.Retry != time.Second || last.ID == "" || len(last.Data) != 0 {
			t.Errorf("the last event is %+v", last)
		}
		y := w.listen(w.b, young, last.ID)
		after(time.Second)
		if err := <-drained; err == nil {
			t.Error("drained while calls run")
		}
		after(6 * time.Second)
		w.wantMessages(y, `{"jsonrpc":"2.0","id":1,"result":{"text":"late"}}`)
		w.wantMessages(stays, progressMessage(1), `{"jsonrpc":"2.0","id":1,"result":{"text":"late"}}`)
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
		if err := w.drain(100 * time.Millisecond); err == nil {
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
