package stateful

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state/medium"
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

// An older SDK resumes a stream after its last response. It gets an error, because it would open a
// standalone stream if the resumed one ended at once. A stream is resumed after an earlier event,
// and if its call has no response.
func TestNothingIsLeftToResume(t *testing.T) {
	for _, version := range []string{v2024, v0326, v0618, v1125} {
		t.Run(version, func(t *testing.T) {
			inWorld(t, Options{}, func(t *testing.T, w *world) {
				s := w.initialize(version)
				w.backend.tools["say"] = func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
					_ = sink.Emit(ctx, progress(1))
					time.Sleep(2 * time.Second)
					return text("ok"), ctx.Err()
				}
				x, cancelled := w.post(w.a, s, callTool(1, "say")), w.post(w.a, s, callTool(2, "say"))
				first := x.lastID()
				w.post(w.b, s, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
				after(3 * time.Second)
				for _, e := range []*Era{w.a, w.b} {
					w.wantKind(w.listen(e, s, x.lastID()), mcp.KindNoStream)
					w.wantMessages(w.listen(e, s, first), `{"jsonrpc":"2.0","id":1,"result":{"text":"ok"}}`)
					if y := w.listen(e, s, cancelled.lastID()); !y.streaming() || !y.ended() {
						t.Error("the stream of a cancelled call is not resumed to its end")
					}
				}
				if version != v0326 {
					return
				}
				y := w.post(w.a, s, "["+callTool(3, "say")+","+callTool(4, "say")+"]")
				after(3 * time.Second)
				w.wantKind(w.listen(w.b, s, y.lastID()), mcp.KindNoStream)
			})
		})
	}
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

// idBehind returns the id of an event that a client has and the store has lost. It is behind
// entries after the last one of x.
func idBehind(t *testing.T, x *client, behind uint64) string {
	t.Helper()
	stream, pos, err := medium.ParseEventID(x.lastID())
	if err != nil {
		t.Fatal(err)
	}
	pos.Seq += behind
	return pos.EventID(stream)
}

// wantIDs checks that no two events share an id, and returns the number of events without one.
func wantIDs(t *testing.T, events ...mcp.StreamEvent) (without int) {
	t.Helper()
	seen := map[string]bool{"": true}
	for _, ev := range events {
		switch {
		case len(ev.Data) == 0: // a priming event
		case ev.ID == "":
			without++
		case seen[ev.ID]:
			t.Errorf("the id %s was used again", ev.ID)
		}
		seen[ev.ID] = true
	}
	return without
}

// A reader ahead of the store waits without effect. The author repeats its writes under the same
// ids, also if it detects the loss itself.
func TestAReaderAheadOfItsLogWaits(t *testing.T) {
	for _, loses := range []bool{false, true} {
		t.Run(fmt.Sprintf("the author notices a loss %t", loses), func(t *testing.T) {
			inWorld(t, Options{}, func(t *testing.T, w *world) {
				s := w.initialize(v1125)
				w.backend.tools["say"] = func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
					for i := range 4 {
						_ = sink.Emit(ctx, progress(float64(i+1)))
						time.Sleep(5 * time.Second)
					}
					return text("ok"), nil
				}
				x := w.post(w.a, s, callTool(1, "say"))
				y := w.listen(w.b, s, idBehind(t, x, 2))
				after(4 * time.Second)
				if n := len(y.all()); n != 0 || y.ended() {
					t.Fatalf("%d events, ended %v", n, y.ended())
				}
				w.faults.mu.Lock()
				w.faults.lose = loses
				w.faults.mu.Unlock()
				after(30 * time.Second)
				const done = `{"jsonrpc":"2.0","id":1,"result":{"text":"ok"}}`
				w.wantMessages(y, progressMessage(4), done)
				if n := wantIDs(t, append(x.all()[:2:2], y.all()...)...); n != 0 {
					t.Errorf("%d events have no id", n)
				}
				if !y.ended() || w.b.Counters().Rollbacks.Load() == 0 {
					t.Errorf("ended %v, %d rollbacks", y.ended(), w.b.Counters().Rollbacks.Load())
				}
			})
		})
	}
}

// The store was rolled back, and the author of the lost entries is lost, too, with the client's
// answer. The client is asked again.
func TestAReaderAheadOfItsLogIsAskedAgain(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["ask"] = asking(elicit("name"))
		x := w.post(w.a, s, callTool(1, "ask"))
		ids, _ := asked(t, x)
		stream, pos, err := medium.ParseEventID(x.lastID())
		if err != nil {
			t.Fatal(err)
		}
		last := medium.Position{Epoch: pos.Epoch.Next(7), Seq: pos.Seq + 1}.EventID(stream)
		y := w.listen(w.b, s, last)
		after(2 * time.Second)
		w.wantMessages(y, x.messages()...)
		if wantIDs(t, y.all()...) != 1 {
			t.Errorf("events are %+v, want one without an id", y.all())
		}
		w.wantAccepted(w.post(w.b, s, answer(ids[0], `{"a":1}`)))
		after(3 * time.Second)
		msgs := y.messages()
		if !y.ended() || !strings.Contains(msgs[len(msgs)-1], `name={\"a\":1}`) {
			t.Errorf("ended %v after %v", y.ended(), msgs)
		}
		wantIDs(t, append(x.all()[:2:2], y.all()...)...)
	})
}

// The store was rolled back to an end of the log that the client has not seen. The client gets the
// call's response.
func TestReaderAheadOfAnEndedLogGetsItsEnd(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["say"] = func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			return text("ok"), sink.Emit(ctx, progress(1))
		}
		x := w.post(w.a, s, callTool(1, "say"))
		after(time.Second)
		if x.body() != "" {
			t.Fatalf("answered with %s", x.body())
		}
		y := w.listen(w.b, s, idBehind(t, x, 1))
		after(2 * time.Second)
		w.wantMessages(y, `{"jsonrpc":"2.0","id":1,"result":{"text":"ok"}}`)
		if n := wantIDs(t, y.all()...); n != 1 || !y.ended() {
			t.Errorf("ended %v with %+v", y.ended(), y.all())
		}
	})
}
