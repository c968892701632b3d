package stateful

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// TestCallsApart runs tests again whose calls run in the exchange's goroutine otherwise.
func TestCallsApart(t *testing.T) {
	apart = true
	defer func() { apart = false }()
	for name, test := range map[string]func(*testing.T){
		"direct": TestDirectCall, "slow": TestSlowCallBecomesStream, "events": TestEventsAreInTheLogAndInOrder,
		"leaving": TestClientThatLeavesDoesNotCancel, "asking": TestAskingAndAnsweringAnywhere,
		"cancelling": TestCancelAnywhere, "the end of a session": TestEndOfASession, "a panic": TestPanicEndsOneCall,
		"state down": TestStateDownInMidCall, "draining": TestDrain, "closing": TestCloseLeavesCallsToOthers,
		"the id is free": TestRequestIDIsFreeWithTheResponse,
	} {
		t.Run(name, test)
	}
}

// leftEarly reports whether the exchange was left before its call had ended.
func (x *exchange) leftEarly() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.left
}

func TestPlainCallsRunInPlace(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		for id := range 3 {
			if x := w.post(w.a, s, callTool(id, "echo")); x.body() == "" || x.leftEarly() {
				t.Errorf("call %d: %q, left %t", id, x.body(), x.leftEarly())
			}
		}
	})
}

// A connection is worth keeping: an exchange that lasts as long as its call is not left.
func TestExchangesAreNotLeftWithoutNeed(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["silent"] = func(context.Context, *mcp.Call, mcp.Sink) (mcp.Reply, error) {
			time.Sleep(3 * time.Second)
			return text("late"), nil
		}
		w.backend.tools["short"] = sleepy(10 * time.Millisecond)
		w.backend.tools["long"] = sleepy(3 * time.Second)
		w.backend.tools["ask"] = asking(elicit("name"))
		var all []*exchange
		for id, name := range []string{"silent", "short", "long", "ask", "long"} {
			all = append(all, w.post(w.a, s, callTool(id, name)))
		}
		after(2 * time.Second)
		w.wantAccepted(w.post(w.a, s, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}`))
		ids, _ := asked(t, all[3])
		w.wantAccepted(w.post(w.a, s, answer(ids[0], `{}`)))
		after(2 * time.Second)
		for id, x := range all {
			if !x.ended() || x.leftEarly() {
				t.Errorf("call %d: ended %t, left %t", id, x.ended(), x.leftEarly())
			}
		}
	})
}

// A call that goes on without its client keeps no connection.
func TestExchangesAreLeftByTheirClient(t *testing.T) {
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
		for _, x := range []*exchange{direct, streamed} {
			if !x.leftEarly() || calls.Load() != 0 {
				t.Errorf("streaming %t: left %t, %d calls have ended", x.streaming(), x.leftEarly(), calls.Load())
			}
		}
		if direct.streaming() || !streamed.streaming() {
			t.Errorf("streams: %t and %t", direct.streaming(), streamed.streaming())
		}
		after(5 * time.Second)
		if n := calls.Load(); n != 2 {
			t.Errorf("%d of 2 calls ran to their end", n)
		}
		<-direct.done
		<-streamed.done
		if n := w.medium.Stats().Streams; n != 1 {
			t.Errorf("%d streams, want one: the first client had left before there was one", n)
		}
	})
}

// A client that left while nothing was on the wire hears of no event either, however soon it comes.
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

// A replica that goes lets clients come back elsewhere at last, while their calls run on.
func TestExchangesAreLeftByADrain(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		w.backend.tools["slow"] = sleepy(5 * time.Second)
		x := w.post(w.a, w.initialize(v1125), callTool(1, "slow"))
		go w.drain(time.Second)
		after(time.Second)
		if !x.leftEarly() {
			t.Error("the exchange was not left")
		}
		select {
		case <-x.done:
			t.Error("the call has ended with it")
		default:
		}
	})
}
