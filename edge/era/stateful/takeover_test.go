package stateful

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

// lose makes replica a lost: it gives no sign of life and takes over nothing, but still works.
func (w *world) lose() { w.faults.set(false, true) }

func TestTakeoverRunsRepeatableCallsAgain(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		zombie := make(chan error, 1)
		w.backend.tools["safe"] = func(ctx context.Context, c *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			log := mcp.Event{Method: mcp.NotifyMessage, Params: []byte(fmt.Sprintf(`{"data":"%d"}`, c.Attempt))}
			for i := 1; i <= 3; i++ {
				_ = sink.Emit(ctx, log)
				_ = sink.Emit(ctx, progress(float64(i)))
				if c.Attempt == 1 && i == 2 {
					time.Sleep(6 * time.Second)
					_ = sink.Emit(ctx, progress(9))
					select {
					case <-ctx.Done():
					case <-time.After(5 * time.Second):
					}
					zombie <- context.Cause(ctx)
					return text("zombie"), nil
				}
			}
			time.Sleep(4 * time.Second)
			return text(fmt.Sprint("attempt ", c.Attempt)), nil
		}
		x := w.post(w.a, s, callTool(1, "safe"))
		w.lose()
		after(20 * time.Second)
		logOf := func(n int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"%d"}}`, n)
		}
		// What the first run had told is not told again; the follower on the lost replica goes on.
		w.wantMessages(x, logOf(1), progressMessage(1), logOf(1), progressMessage(2),
			progressMessage(3), `{"jsonrpc":"2.0","id":1,"result":{"text":"attempt 2"}}`)
		if err := <-zombie; err != errFenced {
			t.Errorf("the lost replica's run ended with %v", err)
		}
		calls := w.backend.seen()
		if len(calls) != 2 || calls[0].ID != calls[1].ID || string(calls[1].Params.Arguments) != `{"n":1}` {
			t.Errorf("calls are %+v", calls)
		}
		if n := w.b.Counters().Reruns.Load(); n != 1 {
			t.Errorf("%d re-runs", n)
		}
	})
}

func TestTakeoverOfAnUnrepeatableCall(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["risky"] = func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			_ = sink.Emit(ctx, progress(1))
			time.Sleep(8 * time.Second)
			return text("zombie"), nil
		}
		x := w.post(w.a, s, callTool(1, "risky"))
		id := x.lastID()
		w.lose()
		y := w.listen(w.b, s, id)
		after(10 * time.Second)
		for _, z := range []*exchange{x, y} {
			msgs := z.messages()
			if !z.ended() || strings.Count(strings.Join(msgs, ""), `"id":1`) != 1 || !strings.Contains(msgs[len(msgs)-1], "-31520") {
				t.Errorf("messages are %v", msgs)
			}
		}
		if len(w.backend.seen()) != 1 {
			t.Error("it was run again")
		}
	})
}

func TestCrashBetweenAnswerAndDispatch(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["ask"] = asking(elicit("name"))
		x := w.post(w.b, s, callTool(1, "ask"))
		ids, _ := asked(t, x)
		// The answer is taken by a replica that dies before it calls the backend.
		c := w.medium.Replica("c")
		if _, claim, err := c.Answer(t.Context(), s, ids[0], stateAnswer(`{"a":1}`)); err != nil || claim == nil {
			t.Fatalf("claim %v, %v", claim, err)
		}
		after(8 * time.Second)
		msgs := x.messages()
		if !x.ended() || msgs[len(msgs)-1] != `{"jsonrpc":"2.0","id":1,"result":{"text":"round 2 state memory name={\"a\":1}"}}` {
			t.Errorf("messages are %v", msgs)
		}
	})
}

func TestLostInAStateOnlyPause(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["wait"] = func(ctx context.Context, c *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			if c.State == nil {
				return mcp.Reply{Input: &mcp.InputRequired{State: []byte("x"), RetryAfter: 10 * time.Second}}, sink.Emit(ctx, progress(1))
			}
			return text("state " + string(c.State)), nil
		}
		x := w.post(w.a, s, callTool(1, "wait"))
		w.lose()
		after(15 * time.Second)
		w.wantMessages(x, progressMessage(1), `{"jsonrpc":"2.0","id":1,"result":{"text":"state x"}}`)
		if n := len(w.backend.seen()); n != 2 {
			t.Errorf("%d calls", n)
		}
	})
}

func TestManyLostCalls(t *testing.T) {
	inWorld(t, Options{MaxTakeovers: 2}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["safe"] = func(ctx context.Context, c *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			_ = sink.Emit(ctx, progress(1))
			if c.Attempt == 1 {
				<-ctx.Done()
			}
			return text("ok"), nil
		}
		var all []*exchange
		for i := range 50 {
			all = append(all, w.post(w.a, s, callTool(i, "safe")))
		}
		w.a.Close()
		after(10 * time.Second)
		for i, x := range all {
			y := w.listen(w.b, s, x.lastID())
			w.wantMessages(y, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"text":"ok"}}`, i))
		}
	})
}

// fleet is replicas beside those of the world, each of which can be lost by itself.
type fleet []struct {
	era    *Era
	faults *faults
}

func (w *world) fleet(n int) fleet {
	out := make(fleet, n)
	for i := range out {
		out[i].faults = &faults{Store: w.medium.Replica(fmt.Sprint("fleet", i))}
		out[i].era = New(w.backend, out[i].faults, Options{Logger: slog.New(slog.DiscardHandler)})
		out[i].era.Start(w.t.Context())
	}
	return out
}

func (f fleet) close() {
	for _, r := range f {
		r.era.Close()
	}
}

// end ends whichever runs the call now, of those that did not end yet.
func (f fleet) end(how func(i int)) {
	for i, r := range f {
		if r.era != nil && r.era.Counters().Reruns.Load() > 0 {
			how(i)
		}
	}
}

// never is a tool that runs until its replica ends, until that has happened often enough.
func never(until int) tool {
	return func(ctx context.Context, c *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
		_ = sink.Emit(ctx, progress(float64(c.Attempt)))
		if c.Attempt <= until {
			<-ctx.Done()
			return mcp.Reply{}, mcp.Errorf(mcp.KindCancelled, "cancelled")
		}
		return text(fmt.Sprint("attempt ", c.Attempt)), nil
	}
}

// A call that is safe to run again is, while it helps: until so many replicas were lost with it that it may be what ends
// them.
func TestACallIsRunAgainUntilItIsPoison(t *testing.T) {
	for _, c := range []struct {
		fails int
		want  string
	}{
		{4, `{"jsonrpc":"2.0","id":1,"result":{"text":"attempt 5"}}`},
		{100, "-31520"},
	} {
		inWorld(t, Options{}, func(t *testing.T, w *world) {
			all := w.fleet(5)
			defer all.close()
			s := w.initialize(v1125)
			w.b.Close()
			w.backend.tools["safe"] = never(c.fails)
			x := w.post(w.a, s, callTool(1, "safe"))
			w.lose()
			lost := map[int]bool{}
			for range 5 {
				after(6 * time.Second)
				if len(lost) == 4 {
					break // the last one finishes the call, or says what is known
				}
				all.end(func(i int) {
					lost[i] = true
					all[i].faults.set(false, true)
				})
			}
			after(10 * time.Second)
			msgs := x.messages()
			if n := len(w.backend.seen()); n != 5 || !strings.Contains(msgs[len(msgs)-1], c.want) {
				t.Errorf("%d runs, messages %v; want 5, the last message %s", n, msgs, c.want)
			}
		})
	}
}

// A replica that leaves is no sign that the call ends whoever runs it.
func TestACallIsRunAgainHoweverManyReplicasLeave(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		all := w.fleet(8)
		defer all.close()
		s := w.initialize(v1125)
		w.backend.tools["safe"] = never(8)
		x := w.post(w.a, s, callTool(1, "safe"))
		id := x.lastID()
		w.a.Close()
		for range 7 {
			after(6 * time.Second)
			all.end(func(i int) {
				all[i].era.Close()
			})
			if w.b.Counters().Reruns.Load() > 0 {
				w.b.Close()
			}
		}
		after(10 * time.Second)
		last := w.b
		for _, r := range all {
			if !r.era.closed.Load() {
				last = r.era
			}
		}
		y := w.listen(last, s, id)
		msgs := y.messages()
		if n := len(w.backend.seen()); n != 9 || len(msgs) == 0 || !strings.Contains(msgs[len(msgs)-1], `"attempt 9"`) {
			t.Errorf("%d runs, messages %v", n, msgs)
		}
	})
}

// A process that stood still for longer than a lease goes on with its own calls.
func TestNoReplicaTakesOverItself(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.b.Close()
		w.backend.tools["long"] = func(ctx context.Context, _ *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			_ = sink.Emit(ctx, progress(1))
			time.Sleep(100*time.Second + time.Millisecond)
			return text("done"), ctx.Err()
		}
		x := w.post(w.a, s, callTool(1, "long"))
		for range 10 {
			w.lose()
			after(5 * time.Second)
			w.faults.set(false, false)
			after(2 * time.Second)
		}
		after(time.Minute)
		w.wantMessages(x, progressMessage(1), `{"jsonrpc":"2.0","id":1,"result":{"text":"done"}}`)
		if n := w.a.Counters().Takeovers.Load(); n != 0 {
			t.Errorf("%d takeovers", n)
		}
	})
}

// What ended a call here is written again when the store has been away, so that what it lost is there:
// the client is asked, and gets the result of the one run.
func TestEndsThatTheStoreLostAreWrittenAgain(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["ask"] = asking(elicit("name"))
		w.backend.tools["safe"] = func(ctx context.Context, c *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			_ = sink.Emit(ctx, progress(1))
			time.Sleep(2 * gather) // so that there is a record
			return text(fmt.Sprint("attempt ", c.Attempt)), nil
		}
		lost := func(tool string, id int) *exchange {
			w.faults.mu.Lock()
			w.faults.forget = true
			w.faults.mu.Unlock()
			defer after(2 * gather)
			return w.post(w.a, s, callTool(id, tool))
		}
		x, y := lost("ask", 1), lost("safe", 2)
		z := w.post(w.a, s, callTool(3, "ask")) // nothing of it is lost
		for range 2 {                           // the second changes nothing
			w.a.bell(state.Bell{Kind: state.BellReturned})
		}
		after(10 * time.Millisecond)
		w.wantMessages(y, progressMessage(1), `{"jsonrpc":"2.0","id":2,"result":{"text":"attempt 1"}}`)
		ids, _ := asked(t, x)
		// Who had seen what was lost sees it anew: the ids are of a newer epoch. The writer and a reader may each have begun one.
		if ids2, _ := asked(t, z); len(ids) != 1 || len(ids2) != 1 || strings.Contains(x.lastID(), ".1.") || !strings.Contains(z.lastID(), ".1.") {
			t.Fatalf("asked %v at %s and %v at %s, want each once, the first anew", ids, x.lastID(), ids2, z.lastID())
		}
		w.wantAccepted(w.post(w.b, s, answer(ids[0], `{"a":1}`)))
		after(10 * time.Second)
		if msgs := x.messages(); !x.ended() || len(msgs) != 2 {
			t.Errorf("ended %v with %v", x.ended(), msgs)
		}
		if n := w.a.Counters().Takeovers.Load() + w.b.Counters().Takeovers.Load(); n != 0 {
			t.Errorf("%d takeovers", n)
		}
	})
}

// The same for a call that was concluded in one write: who comes back to its stream finds it.
func TestConcludedStreamsThatTheStoreLostAreWrittenAgain(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["quick"] = func(ctx context.Context, c *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			_ = sink.Emit(ctx, progress(1))
			return text("ok"), nil
		}
		w.faults.mu.Lock()
		w.faults.forget = true
		w.faults.mu.Unlock()
		w.post(w.a, s, callTool(1, "quick"))
		at := state.Position{Stream: w.faults.concluded[0]}
		if _, err := w.faults.Read(t.Context(), s, at, 0); !errors.Is(err, state.ErrNotFound) {
			t.Fatalf("reading what is lost: %v", err)
		}
		for range 2 { // the second changes nothing
			w.a.bell(state.Bell{Kind: state.BellReturned})
		}
		after(time.Second)
		page, err := w.faults.Read(t.Context(), s, at, 0)
		if err != nil || len(page.Entries) != 2 || !page.Ended || page.Epoch != 1 {
			t.Errorf("the stream has %+v: %v", page, err)
		}
		if n := len(w.backend.seen()); n != 1 {
			t.Errorf("%d runs", n)
		}
	})
}

// A claim that the store lost with the answer that brought it: the claimer's end is written again all
// the same, at an epoch that is ahead of the record's, and nobody has to answer twice.
func TestClaimsThatTheStoreLost(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["ask"] = asking(elicit("name"))
		x := w.post(w.a, s, callTool(1, "ask"))
		ids, _ := asked(t, x)
		stream, _, _ := strings.Cut(x.lastID(), ".")
		w.b.ends.add(end{ // as if b had been given the answer and had finished the call
			at: time.Now(), s: w.b.keep(s),
			write: state.Write{Lease: state.Lease{Session: s, Stream: stream, Call: w.backend.seen()[0].ID, Epoch: 2}, N: 2},
			op: func(ctx context.Context, wr state.Write) error {
				return w.b.store.Finish(ctx, wr, []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
			},
		})
		w.b.bell(state.Bell{Kind: state.BellReturned})
		after(2 * time.Second)
		if msgs := x.messages(); !x.ended() || msgs[len(msgs)-1] != `{"jsonrpc":"2.0","id":1,"result":{}}` {
			t.Errorf("ended %v with %v", x.ended(), msgs)
		}
		w.wantAccepted(w.post(w.a, s, answer(ids[0], `{"a":1}`)))
	})
}

// A write may be acknowledged before the store was away and be noted only when it is back.
func TestEndsThatAreNotedLate(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.a.bell(state.Bell{Kind: state.BellReturned})
		after(time.Second)
		w.faults.mu.Lock()
		w.faults.forget = true
		w.faults.mu.Unlock()
		w.backend.tools["ask"] = asking(elicit("name"))
		x := w.post(w.a, s, callTool(1, "ask"))
		after(stateTimeout)
		if ids, _ := asked(t, x); len(ids) != 1 {
			t.Errorf("asked %v", ids)
		}
	})
}

// The ends that are kept are bounded by number, by bytes and by age, the time without new ones not counted.
func TestEndsAreBounded(t *testing.T) {
	var x ends
	now := time.Now()
	x.add(end{at: now, bytes: 1})
	x.add(end{at: now.Add(endLife), bytes: 2})
	if n := len(x.since(time.Time{})); n != 2 {
		t.Errorf("%d ends, want those of %s", n, endLife)
	}
	x.add(end{at: now.Add(endLife + 1), bytes: 3})
	if all := x.since(time.Time{}); len(all) != 2 || all[0].bytes != 2 {
		t.Errorf("%d ends, the oldest of %d bytes", len(all), all[0].bytes)
	}
	for range maxEnds {
		x.add(end{at: now.Add(endLife + 1), bytes: 1})
	}
	if n := len(x.since(time.Time{})); n != maxEnds || x.bytes != maxEnds {
		t.Errorf("%d ends of %d bytes, want %d", n, x.bytes, maxEnds)
	}
	x.add(end{at: now.Add(endLife + 1), bytes: maxEndBytes})
	if n := len(x.since(time.Time{})); n != 1 {
		t.Errorf("%d ends beside one that takes all the room", n-1)
	}
}

// A store that fails over may have lost what ended a call's run: the replica that is its owner by the
// record, but does not run it, finishes it like any lost call.
func TestCallsWhoseEndTheStoreLost(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["ask"] = asking(elicit("name"))
		w.backend.tools["safe"] = func(ctx context.Context, c *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			_ = sink.Emit(ctx, progress(float64(c.Attempt)))
			time.Sleep(100 * time.Millisecond) // the progress is written
			return text(fmt.Sprint("attempt ", c.Attempt)), nil
		}
		forget := func() {
			w.faults.mu.Lock()
			defer w.faults.mu.Unlock()
			w.faults.forget = true
		}
		forget()
		x := w.post(w.a, s, callTool(1, "ask"))
		forget()
		y := w.post(w.a, s, callTool(2, "safe"))
		after(5 * time.Second)
		if msgs := x.messages(); !x.ended() || len(msgs) != 1 || !strings.Contains(msgs[0], `"code":-31520`) {
			t.Errorf("the call whose question was lost: ended %v with %v", x.ended(), msgs)
		}
		w.wantMessages(y, progressMessage(1), progressMessage(2), `{"jsonrpc":"2.0","id":2,"result":{"text":"attempt 2"}}`)
		if n := w.a.Counters().Takeovers.Load() + w.b.Counters().Takeovers.Load(); n != 2 {
			t.Errorf("%d takeovers, want 2", n)
		}
	})
}
