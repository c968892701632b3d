package stateful

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// untilCancelled returns a tool that ends with its context and then reports to ended.
func untilCancelled(ended chan<- struct{}, emit bool) tool {
	return func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
		if emit {
			if err := sink.Emit(ctx, progress(1)); err != nil {
				return mcp.Reply{}, err
			}
		}
		<-ctx.Done()
		ended <- struct{}{}
		return mcp.Reply{}, mcp.Errorf(mcp.KindCancelled, "cancelled")
	}
}

func cancelOf(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d,"reason":"x"}}`, id)
}

func TestCancelAnywhere(t *testing.T) {
	for _, streamed := range []bool{false, true} {
		for _, remote := range []bool{false, true} {
			t.Run(fmt.Sprintf("streamed=%t/remote=%t", streamed, remote), func(t *testing.T) {
				inWorld(t, Options{}, func(t *testing.T, w *world) {
					s := w.initialize(v1125)
					ended := make(chan struct{}, 1)
					w.backend.tools["hang"] = untilCancelled(ended, streamed)
					x := w.post(w.a, s, callTool(1, "hang"))
					at := w.a
					if remote {
						at = w.b
					}
					w.wantAccepted(w.post(at, s, cancelOf(2)))
					w.wantAccepted(w.post(at, s, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":null}}`))
					if len(ended) != 0 {
						t.Fatal("the wrong call was cancelled")
					}
					w.wantAccepted(w.post(at, s, cancelOf(1)))
					after(time.Millisecond)
					if len(ended) != 1 || !x.ended() {
						t.Fatalf("backend ended %d, exchange ended %t", len(ended), x.ended())
					}
					if streamed {
						w.wantMessages(x, progressMessage(1))
						y := w.listen(w.b, s, x.lastID())
						w.wantMessages(y)
					} else {
						w.wantAccepted(x)
					}
				})
			})
		}
	}
}

// A cancellation that crosses the response is not an error (Utilities, "Cancellation"): it is
// accepted at once and has no effect.
func TestCancelOfACallThatHasEnded(t *testing.T) {
	for _, streamed := range []bool{false, true} {
		t.Run(fmt.Sprintf("streamed=%t", streamed), func(t *testing.T) {
			inWorld(t, Options{}, func(t *testing.T, w *world) {
				s := w.initialize(v1125)
				w.backend.tools["say"] = func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
					if streamed {
						_ = sink.Emit(ctx, progress(1))
						time.Sleep(2 * flushed)
					}
					return text("said"), nil
				}
				x := w.post(w.a, s, callTool(1, "say"))
				after(time.Second)
				if !x.ended() || x.streaming() != streamed {
					t.Fatalf("the call ended %t, streamed %t", x.ended(), x.streaming())
				}
				for _, at := range []*Era{w.a, w.b} {
					began := time.Now()
					w.wantAccepted(w.post(at, s, cancelOf(1)))
					if took := time.Since(began); took > flushed {
						t.Errorf("it took %s", took-flushed)
					}
					c := at.Counters()
					if n, m := c.StateErrors.Load(), c.CallsCancelled.Load(); n != 0 || m != 0 {
						t.Errorf("%d state errors, %d calls cancelled", n, m)
					}
				}
			})
		})
	}
}

func TestCancelOfAWaitingCall(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["ask"] = asking(elicit("name"))
		x := w.post(w.a, s, callTool(1, "ask"))
		ids, _ := asked(t, x)
		w.wantAccepted(w.post(w.b, s, cancelOf(1)))
		after(2 * time.Second)
		if !x.ended() || len(x.messages()) != 1 {
			t.Errorf("ended %t with %v", x.ended(), x.messages())
		}
		w.wantAccepted(w.post(w.a, s, answer(ids[0], `{}`)))
		if n := len(w.backend.seen()); n != 1 {
			t.Errorf("the backend was called %d times", n)
		}
	})
}

// Another replica accepts a cancellation before the call has a record. The call's replica gets it
// after the call has asked the client. The cancellation still ends the call.
func TestCancelOfACallThatComesToWait(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		goOn := make(chan struct{})
		ask := asking(elicit("name"))
		w.backend.tools["ask"] = func(ctx context.Context, c *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			<-goOn
			return ask(ctx, c, sink)
		}
		x := w.post(w.b, s, callTool(1, "ask"))
		w.faults.mu.Lock()
		w.faults.onRing = func() {
			close(goOn)
			after(100 * time.Millisecond)
		}
		w.faults.mu.Unlock()
		y := w.post(w.a, s, cancelOf(1))
		after(time.Second)
		w.wantAccepted(y)
		if msgs := x.messages(); !x.ended() || len(msgs) != 1 {
			t.Errorf("the call's stream ended %t, after %v", x.ended(), msgs)
		}
	})
}

// A cancellation at a replica that has lost the call to another one ends the call at its new owner.
func TestCancelOfACallThatWasTakenOver(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		ended := make(chan struct{}, 2)
		hang := untilCancelled(ended, false)
		w.backend.tools["safe"] = func(ctx context.Context, c *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			if c.Attempt == 1 {
				_ = sink.Emit(ctx, progress(1))
			}
			return hang(ctx, c, sink)
		}
		x := w.post(w.a, s, callTool(1, "safe"))
		w.lose()
		after(10 * time.Second)
		if n := w.b.Counters().Reruns.Load(); n != 1 {
			t.Fatalf("%d re-runs", n)
		}
		w.wantAccepted(w.post(w.a, s, cancelOf(1)))
		after(2 * time.Second)
		if msgs := x.messages(); !x.ended() || len(msgs) != 1 {
			t.Errorf("the call's stream ended %t, after %v", x.ended(), msgs)
		}
	})
}

func TestEndOfASession(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		ended := make(chan struct{}, 2)
		w.backend.tools["hang"] = untilCancelled(ended, false)
		w.backend.tools["say"] = untilCancelled(ended, true)
		direct, streamed := w.post(w.a, s, callTool(1, "hang")), w.post(w.a, s, callTool(2, "say"))
		standalone := w.listen(w.a, s, "")
		w.wantAccepted(w.end(w.b, s))
		after(time.Millisecond)
		if len(ended) != 2 || !streamed.ended() || !standalone.ended() {
			t.Errorf("%d calls cancelled, streams ended: %t, %t", len(ended), streamed.ended(), standalone.ended())
		}
		w.wantKind(direct, mcp.KindSessionNotFound)
		for _, e := range []*Era{w.a, w.b} {
			w.wantKind(w.post(e, s, callTool(3, "echo")), mcp.KindSessionNotFound)
			w.wantKind(w.listen(e, s, ""), mcp.KindSessionNotFound)
			w.wantKind(w.end(e, s), mcp.KindSessionNotFound)
		}
		w.wantKind(w.listen(w.a, s, "abc.1.0"), mcp.KindSessionNotFound)
	})
}

// A cancellation in the batch of its request finds a call that is registered and does not run yet.
// The call is still cancelled.
func TestCancelInTheBatchOfTheRequest(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v0326)
		ended := make(chan struct{}, 2)
		w.backend.tools["hang"] = untilCancelled(ended, false)
		alone, beside := w.post(w.a, s, batch(callTool(1, "hang"), cancelOf(1))), w.post(w.a, s, batch(callTool(2, "hang"), cancelOf(2), callTool(3, "echo")))
		after(100 * time.Millisecond)
		if !alone.ended() || !beside.ended() {
			t.Errorf("ended: alone %t, beside another call %t", alone.ended(), beside.ended())
		}
		w.wantAccepted(alone)
		for id := range 3 { // cancels a call that still runs, so that the test does not hang
			w.post(w.a, s, cancelOf(id+1))
		}
		w.wantKind(w.post(w.a, s, callTool(1, "echo")), mcp.KindNone)
	})
}
