package stateful

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// A call that outlives its client keeps no connection.
func TestClientsLeaveTheirExchanges(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		var calls atomic.Int32
		w.backend.tools["slow"] = func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			time.Sleep(5 * time.Second)
			calls.Add(1)
			return text("late"), sink.Emit(ctx, progress(1))
		}
		direct, streamed := w.post(w.a, s, callTool(1, "slow")), w.post(w.a, s, callTool(2, "slow"))
		direct.cancel()
		after(2 * time.Second)
		streamed.cancel()
		after(time.Millisecond)
		for _, x := range []*client{direct, streamed} {
			if !x.ended() || calls.Load() != 0 {
				t.Errorf("streaming %t: ended %t, %d calls have ended", x.streaming(), x.ended(), calls.Load())
			}
		}
		if direct.streaming() || !streamed.streaming() {
			t.Errorf("streams: %t and %t", direct.streaming(), streamed.streaming())
		}
		after(5 * time.Second)
		if n := calls.Load(); n != 2 {
			t.Errorf("%d of 2 calls ran to their end", n)
		}
		if n := w.medium.Stats().Streams; n != 1 {
			t.Errorf("%d streams, want one: the first client had left before there was one", n)
		}
	})
}

// No stream is begun for a client that disconnected before the first event, even if the event
// follows immediately.
func TestNoStreamIsBegunForAClientThatLeft(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["soon"] = func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			time.Sleep(100 * time.Millisecond)
			_ = sink.Emit(ctx, progress(1))
			time.Sleep(100 * time.Millisecond)
			return text("done"), nil
		}
		x := w.post(w.a, s, callTool(1, "soon"))
		x.cancel()
		after(time.Second)
		if !x.ended() || w.medium.Stats().Streams != 0 {
			t.Errorf("ended %t, %d streams", x.ended(), w.medium.Stats().Streams)
		}
	})
}

// A draining replica finally closes streams so that clients resume them elsewhere, while their
// calls continue.
func TestADrainEndsExchanges(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		w.backend.tools["slow"] = sleepy(5 * time.Second)
		x := w.post(w.a, w.initialize(v1125), callTool(1, "slow"))
		go w.drain(time.Second)
		after(time.Second)
		if last := x.all()[len(x.all())-1]; !x.ended() || last.ID == "" || last.Retry == 0 {
			t.Errorf("ended %t after %+v", x.ended(), last)
		}
	})
}
