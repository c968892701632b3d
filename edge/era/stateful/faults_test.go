package stateful

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

func TestResultTooLargeForAStream(t *testing.T) {
	inLimits(t, Options{}, state.Limits{ResultBytes: 1000}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		big := strings.Repeat("x", 2000)
		w.backend.tools["big"] = func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			err := sink.Emit(ctx, progress(1))
			time.Sleep(2 * flushed)
			return text(big), err
		}
		w.backend.tools["ask"] = asking(elicit(big))
		x := w.post(w.a, s, callTool(1, "big"))
		y := w.post(w.a, s, callTool(2, "ask"))
		after(2 * flushed)
		for _, z := range []*client{x, y} {
			msgs := z.messages()
			if !z.ended() || !strings.Contains(msgs[len(msgs)-1], `"code":-31413`) {
				t.Errorf("ended with %v", msgs)
			}
		}
		// An entry that no stream must keep may be larger.
		w.backend.tools["plain"] = func(context.Context, *mcp.Call, mcp.Sink) (mcp.Reply, error) { return text(big), nil }
		w.backend.tools["quick"] = func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			return text(big), sink.Emit(ctx, progress(1))
		}
		w.wantKind(w.post(w.a, s, callTool(3, "plain")), mcp.KindNone)
		w.wantKind(w.post(w.a, s, callTool(4, "quick")), mcp.KindNone)
	})
}

func TestBounds(t *testing.T) {
	inLimits(t, Options{}, state.Limits{SessionsPerPrincipal: 1, StreamsPerSession: 1, Subscriptions: 1}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.wantKind(w.post(w.a, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`), mcp.KindLimit)
		w.wantKind(w.post(w.a, s, subscribe("subscribe", "x://1")), mcp.KindNone)
		w.wantKind(w.post(w.a, s, subscribe("subscribe", "x://2")), mcp.KindLimit)
		w.backend.tools["ask"] = asking(elicit("name"))
		w.post(w.a, s, callTool(1, "ask"))
		w.wantKind(w.post(w.a, s, callTool(2, "ask")), mcp.KindLimit)
	})
}

// A slow store does not block the backend. Only droppable events are dropped.
func TestSlowStoreNeverBlocksTheBackend(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		var took time.Duration
		w.backend.tools["busy"] = func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			start := time.Now()
			for i := range 5000 {
				if err := sink.Emit(ctx, progress(float64(i))); err != nil {
					return mcp.Reply{}, err
				}
			}
			took = time.Since(start)
			return text("ok"), nil
		}
		w.faults.set(false, false)
		w.faults.mu.Lock()
		w.faults.slow = time.Second
		w.faults.mu.Unlock()
		x := w.post(w.a, s, callTool(1, "busy"))
		after(10 * time.Second)
		msgs := x.messages()
		if took != 0 || !x.ended() || len(msgs) > 1000 || msgs[len(msgs)-2] != progressMessage(4999) || !strings.Contains(msgs[len(msgs)-1], `"ok"`) {
			t.Errorf("took %s, %d messages", took, len(msgs))
		}
		if w.a.Counters().DroppedQueue.Load() == 0 {
			t.Error("what was dropped was not counted")
		}
	})
}

// A write that the medium lost is restored, and the call ends with one response.
func TestLostWrites(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["say"] = func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			_ = sink.Emit(ctx, progress(1))
			time.Sleep(time.Second)
			return text("ok"), sink.Emit(ctx, progress(2))
		}
		w.faults.lose = true
		x := w.post(w.a, s, callTool(1, "say"))
		after(3 * time.Second)
		w.wantMessages(x, progressMessage(1), progressMessage(2), `{"jsonrpc":"2.0","id":1,"result":{"text":"ok"}}`)
		if w.a.Counters().Rollbacks.Load() == 0 {
			t.Error("the loss was not counted")
		}
	})
}

// A cancellation that arrives during the parking of the call takes effect.
func TestCancelWhileParking(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["ask"] = asking(elicit("name"))
		w.faults.onPark = func() {
			x := w.begin(func(ctx context.Context, x *client) {
				w.a.Message(ctx, w.incoming(s), mustParse(cancelOf(1)), x)
			})
			<-x.done
		}
		x := w.post(w.a, s, callTool(1, "ask"))
		if !x.ended() {
			t.Errorf("a cancelled call waits: %v", x.messages())
		}
	})
}

func TestStateDownForAnswersAndReaders(t *testing.T) {
	inWorld(t, Options{KeepAlive: 2 * time.Second}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["ask"] = asking(elicit("name"))
		x := w.post(w.a, s, callTool(1, "ask"))
		ids, _ := asked(t, x)
		w.faults.set(true, false)
		w.wantKind(w.post(w.a, s, answer(ids[0], `{}`)), mcp.KindStateUnavailable)
		w.wantKind(w.listen(w.a, s, x.lastID()), mcp.KindStateUnavailable)
		after(5 * time.Second)
		if x.ended() || x.alive() == 0 {
			t.Errorf("the stream ended: %t, kept alive %d times", x.ended(), x.alive())
		}
		// The client does not retry; its answer is accepted nevertheless.
		w.faults.set(false, false)
		after(3 * time.Second)
		if msgs := x.messages(); !x.ended() || len(msgs) != 2 {
			t.Errorf("messages are %v", msgs)
		}
	})
}

// An answer whose reply was lost made this replica the owner of the call. The call continues once
// the replica knows.
func TestLostReplyToAnAnswer(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["ask"] = asking(elicit("name"))
		x := w.post(w.a, s, callTool(1, "ask"))
		ids, _ := asked(t, x)
		w.faults.unsaid = 2
		w.wantKind(w.post(w.a, s, answer(ids[0], `{"a":1}`)), mcp.KindStateUnavailable)
		// The client repeats the answer, without effect.
		w.post(w.b, s, answer(ids[0], `{"a":2}`))
		after(3 * time.Second)
		msgs := x.messages()
		if !x.ended() || msgs[len(msgs)-1] != `{"jsonrpc":"2.0","id":1,"result":{"text":"round 2 state memory name={\"a\":1}"}}` {
			t.Errorf("messages are %v", msgs)
		}
		if n := w.b.Counters().Takeovers.Load(); n != 0 {
			t.Errorf("%d takeovers", n)
		}
	})
}

// A cancellation whose claim got no reply still takes effect.
func TestLostReplyToAClaim(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["ask"] = asking(elicit("name"))
		x := w.post(w.b, s, callTool(1, "ask"))
		asked(t, x)
		w.faults.unsaid = 2
		w.post(w.a, s, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		after(time.Second)
		if msgs := x.messages(); !x.ended() || len(msgs) != 1 {
			t.Errorf("ended %v after %v", x.ended(), msgs)
		}
		if n := w.a.Counters().CallsCancelled.Load(); n != 1 {
			t.Errorf("%d calls cancelled", n)
		}
	})
}

// Writes that the store lost are detected and restored, even if the reply to the first restore is
// lost.
func TestLostReplyToARestore(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["say"] = func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			for i := range 3 {
				if err := sink.Emit(ctx, progress(float64(i+1))); err != nil {
					return mcp.Reply{}, err
				}
				time.Sleep(time.Second)
				w.faults.mu.Lock()
				w.faults.lose, w.faults.unsaid = i == 0, 1
				w.faults.mu.Unlock()
			}
			return text("ok"), nil
		}
		x := w.post(w.a, s, callTool(1, "say"))
		after(5 * time.Second)
		w.wantMessages(x, progressMessage(1), progressMessage(2), progressMessage(3), `{"jsonrpc":"2.0","id":1,"result":{"text":"ok"}}`)
		if n := w.a.Counters().Fenced.Load(); n != 0 {
			t.Errorf("%d writes were fenced", n)
		}
		if n := w.a.Counters().Rollbacks.Load(); n == 0 {
			t.Error("no rollback was noticed")
		}
	})
}

// A failed read is retried soon, because its entry is in the store and no further event wakes the
// reader.
func TestFailedReadingIsRepeated(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["say"] = func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			_ = sink.Emit(ctx, progress(1))
			time.Sleep(time.Second)
			w.faults.mu.Lock()
			w.faults.blind = 1
			w.faults.mu.Unlock()
			_ = sink.Emit(ctx, progress(2))
			time.Sleep(10 * time.Second)
			return text("ok"), nil
		}
		x := w.post(w.a, s, callTool(1, "say"))
		after(3 * time.Second)
		w.wantMessages(x, progressMessage(1), progressMessage(2))
	})
}

// The end of the grace period does not close a stream without an event id, which its client could
// not resume.
func TestDrainLeavesNoStreamWithoutAnID(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["slow"] = sleepy(20 * time.Second)
		w.faults.mu.Lock()
		w.faults.blind = 5
		w.faults.mu.Unlock()
		x := w.post(w.a, s, callTool(1, "slow"))
		go w.drain(400 * time.Millisecond)
		after(time.Second)
		if x.ended() {
			t.Error("the stream ended before it had an event")
		}
		after(10 * time.Second)
		if !x.ended() || x.lastID() == "" {
			t.Errorf("ended %v, last id %q", x.ended(), x.lastID())
		}
	})
}

// A Begin that succeeded while the store seemed unavailable leaves no data.
func TestUnsureBegin(t *testing.T) {
	inLimits(t, Options{}, state.Limits{StreamsPerSession: 1}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["say"] = func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			err := sink.Emit(ctx, progress(1))
			time.Sleep(500 * time.Millisecond)
			w.faults.mu.Lock()
			w.faults.deaf = false
			w.faults.mu.Unlock()
			return text("ok"), err
		}
		w.faults.deaf = true
		x := w.post(w.a, s, callTool(1, "say"))
		after(time.Second)
		w.wantBody(x, `{"jsonrpc":"2.0","id":1,"result":{"text":"ok"}}`)
		y := w.post(w.a, s, callTool(2, "say"))
		after(time.Second)
		w.wantMessages(y, progressMessage(1), `{"jsonrpc":"2.0","id":2,"result":{"text":"ok"}}`)
	})
}

// Many concurrent calls, in one session and on both replicas, do not mix their data.
func TestManyAtOnce(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["say"] = func(ctx context.Context, c *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			return text(string(c.Params.Arguments)), sink.Emit(ctx, progress(1))
		}
		w.backend.tools["ask"] = asking(elicit("name"))
		all := make([]*client, 240)
		for i := range all {
			e, name := w.a, []string{"echo", "say", "ask"}[i%3]
			if i%2 == 1 {
				e = w.b
			}
			all[i] = w.begin(func(ctx context.Context, x *client) {
				e.Message(ctx, w.incoming(s), mustParse(callTool(i, name)), x)
			})
		}
		after(time.Millisecond)
		for i, x := range all {
			if i%3 != 2 {
				continue
			}
			ids, _ := asked(t, x)
			w.begin(func(ctx context.Context, y *client) {
				w.b.Message(ctx, w.incoming(s), mustParse(answer(ids[0], fmt.Sprintf(`{"n":%d}`, i))), y)
			})
		}
		after(2 * time.Second)
		for i, x := range all {
			got := x.body() + strings.Join(x.messages(), "")
			mine := fmt.Sprintf(`"id":%d,"result":{"text":"%s`, i, [3]string{fmt.Sprintf(`{\"n\":%d}`, i),
				fmt.Sprintf(`{\"n\":%d}`, i), fmt.Sprintf(`round 2 state memory name={\"n\":%d}`, i)}[i%3])
			if !x.ended() || strings.Count(got, mine) != 1 || strings.Count(got, `"result"`) != 1 {
				t.Fatalf("call %d: %s, want %s", i, got, mine)
			}
		}
	})
}

func TestSessionGoneUnheard(t *testing.T) {
	inWorld(t, Options{Heartbeat: time.Hour}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["late"] = func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			time.Sleep(500 * time.Millisecond)
			return text("ok"), sink.Emit(ctx, progress(1))
		}
		x := w.post(w.a, s, callTool(1, "late"))
		if err := w.store("c").Delete(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		after(time.Second)
		w.wantKind(x, mcp.KindSessionNotFound)
	})
}

// A session in use is revalidated at every heartbeat. A held session that is not in use is
// revalidated at every fifth heartbeat, and at the first one after the store was unavailable.
func TestIdleSessionsAreRevalidatedSeldom(t *testing.T) {
	inWorld(t, Options{Heartbeat: time.Second}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.listen(w.a, s, "")
		touched := func(d time.Duration) int {
			w.faults.mu.Lock()
			before := w.faults.touched
			w.faults.mu.Unlock()
			after(d)
			w.faults.mu.Lock()
			defer w.faults.mu.Unlock()
			return w.faults.touched - before
		}
		after(1500 * time.Millisecond)
		if n := touched(20 * time.Second); n != 20/idleBeats {
			t.Errorf("an idle session was revalidated %d times in 20 heartbeats, want %d", n, 20/idleBeats)
		}
		for range 5 {
			w.post(w.a, s, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
			if n := touched(time.Second); n != 1 {
				t.Errorf("a session in use was revalidated %d times in a heartbeat", n)
			}
		}
		w.backend.tools["long"] = func(ctx context.Context, _ *mcp.Call, _ mcp.Sink) (mcp.Reply, error) {
			time.Sleep(10 * time.Second)
			return text("ok"), nil
		}
		w.post(w.a, s, callTool(2, "long"))
		if n := touched(9 * time.Second); n != 9 {
			t.Errorf("a session whose call runs was revalidated %d times in 9 heartbeats", n)
		}
		w.faults.set(true, false)
		after(2 * idleBeats * time.Second)
		w.faults.set(false, false)
		if n := touched(time.Second); n != 1 {
			t.Errorf("a session was revalidated %d times in the heartbeat after the state came back", n)
		}
	})
}

// An idle stream keeps its session alive, even with a short TTL.
func TestIdleStreamsKeepShortSessions(t *testing.T) {
	inLimits(t, Options{}, state.Limits{SessionTTL: 3 * time.Second}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		x := w.listen(w.a, s, "")
		after(time.Minute)
		if x.ended() {
			t.Error("the stream ended")
		}
		w.wantBody(w.post(w.a, s, `{"jsonrpc":"2.0","id":1,"method":"ping"}`), `{"jsonrpc":"2.0","id":1,"result":{}}`)
	})
}

// Clients cut their connection at every event and reconnect to any replica, while one replica is
// lost. Each call has exactly one response, without a gap or a duplicate.
func TestOneResponseWhateverHappens(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		w.backend.tools["safe"] = func(ctx context.Context, c *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			for i := 1; i <= 10; i++ {
				if err := sink.Emit(ctx, progress(float64(i))); err != nil {
					return mcp.Reply{}, err
				}
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
					return mcp.Reply{}, mcp.Errorf(mcp.KindCancelled, "cancelled")
				}
			}
			return text("ok"), nil
		}
		const calls = 40
		got := make([][]string, calls)
		first := make([]*client, calls)
		s := w.initialize(v1125)
		for i := range calls {
			first[i] = w.post(w.a, s, callTool(i, "safe"))
		}
		for step := range 45 {
			if step == 4 {
				w.lose()
			}
			for i, x := range first {
				last := x.lastID()
				x.cancel()
				after(time.Millisecond)
				got[i] = append(got[i], x.messages()...)
				at := w.b
				if (step+i)%2 == 0 {
					at = w.a
				}
				if id := x.lastID(); id != "" {
					last = id
				}
				first[i] = w.listen(at, s, last)
				if len(first[i].all()) == 0 {
					// There was no new event: the next cut resumes from the same position.
					first[i].set(func() { first[i].events = []mcp.StreamEvent{{ID: last}} })
				}
			}
			after(500 * time.Millisecond)
		}
		for i := range calls {
			got[i] = append(got[i], first[i].messages()...)
			want := ""
			for p := 1; p <= 10; p++ {
				want += progressMessage(float64(p))
			}
			want += fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"text":"ok"}}`, i)
			if all := strings.Join(got[i], ""); all != want {
				t.Errorf("call %d: %s", i, all)
			}
		}
		if w.b.Counters().Reruns.Load() == 0 {
			t.Error("no call was run again: the test lost nothing")
		}
	})
}
