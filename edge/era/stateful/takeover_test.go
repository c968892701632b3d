package stateful

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

// lose makes replica a lost: its heartbeats fail and it takes over nothing, but it still works.
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
		// Events of the first run are not sent again. The follower on the lost replica continues.
		w.wantMessages(x, logOf(1), progressMessage(1), logOf(1), progressMessage(2),
			progressMessage(3), `{"jsonrpc":"2.0","id":1,"result":{"text":"attempt 2"}}`)
		if err := <-zombie; err == nil {
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

// A takeover is logged in one line by the replica that took over. No line is logged for a call
// without a lost owner.
func TestTakeoverIsLogged(t *testing.T) {
	var log strings.Builder
	inWorld(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["slow"] = func(ctx context.Context, c *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			_ = sink.Emit(ctx, progress(1))
			if c.Attempt == 1 {
				<-ctx.Done()
			}
			return text("ok"), nil
		}
		w.backend.tools["ask"] = asking(elicit("name"))
		x := w.post(w.b, s, callTool(1, "ask"))
		ids, _ := asked(t, x)
		w.wantAccepted(w.post(w.b, s, answer(ids[0], `{}`)))
		after(10 * time.Second)
		const line = `level=INFO msg="took over a call from a lost replica"`
		if !x.ended() || strings.Contains(log.String(), line) {
			t.Fatalf("the call has ended: %v; before a replica is lost the log has\n%s", x.ended(), log.String())
		}
		w.post(w.a, s, callTool(2, "slow"))
		w.lose()
		after(20 * time.Second)
		calls := w.backend.seen()
		want := line + " call=" + calls[len(calls)-1].ID + " method=tools/call round=1 target=slow"
		if n := strings.Count(log.String(), line); n != 1 || !strings.Contains(log.String(), want) {
			t.Errorf("%d lines, want one with %s:\n%s", n, want, log.String())
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
		for _, z := range []*client{x, y} {
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
		// A replica accepts the answer and is lost before it calls the backend.
		status, _, err := w.store("c").Answer(t.Context(), s, ids[0], stateAnswer(`{"a":1}`), 1)
		if err != nil || status != state.AnswerCompleted {
			t.Fatalf("status %d, %v", status, err)
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
		if seen := w.backend.seen(); len(seen) != 2 || seen[0].Begun || !seen[1].Begun {
			t.Errorf("%d calls: %+v", len(seen), seen)
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
		var all []*client
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

// fleet is a set of further replicas, each of which can be lost separately.
type fleet []struct {
	era    *Era
	faults *faults
}

func (w *world) fleet(n int) fleet {
	out := make(fleet, n)
	for i := range out {
		out[i].faults = &faults{}
		out[i].era = w.era(fmt.Sprint("fleet", i), Options{Logger: slog.New(slog.DiscardHandler)}, out[i].faults)
		out[i].era.Start(w.t.Context())
	}
	return out
}

func (f fleet) close() {
	for _, r := range f {
		r.era.Close()
	}
}

// end calls how for each replica that runs the call again.
func (f fleet) end(how func(i int)) {
	for i, r := range f {
		if r.era != nil && r.era.Counters().Reruns.Load() > 0 {
			how(i)
		}
	}
}

// never returns a tool that runs until its replica ends, for the first until attempts.
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

// A repeatable call is run again until MaxAttempts replicas were lost with it, because it may be
// the cause.
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
					break // the last replica ends the call, with its result or as lost
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

// The drain of a replica does not count as an attempt, however many replicas leave.
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

// A process that was stopped for longer than a lease continues its own calls.
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

// forget makes the medium forget the next acknowledged last step of replica a. returned notifies a
// that the store was unavailable.
func (w *world) forget() {
	w.faults.mu.Lock()
	defer w.faults.mu.Unlock()
	w.faults.forget = true
}

func (w *world) returned() { w.faults.hooks.Returning() }

// The end of a call here is restored after the store was unavailable and lost it: the client is
// asked, and gets the result of the only run.
func TestEndsThatTheStoreLostAreRestored(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["ask"] = asking(elicit("name"))
		w.backend.tools["safe"] = func(ctx context.Context, c *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			_ = sink.Emit(ctx, progress(1))
			time.Sleep(2 * flushed) // ensures that there is a record
			return text(fmt.Sprint("attempt ", c.Attempt)), nil
		}
		lost := func(tool string, id int) *client {
			w.forget()
			defer after(2 * flushed)
			return w.post(w.a, s, callTool(id, tool))
		}
		x, y := lost("ask", 1), lost("safe", 2)
		z := w.post(w.a, s, callTool(3, "ask")) // not lost
		for range 2 {                           // the second call has no effect
			w.returned()
		}
		after(10 * time.Millisecond)
		w.wantMessages(y, progressMessage(1), `{"jsonrpc":"2.0","id":2,"result":{"text":"attempt 1"}}`)
		ids, _ := asked(t, x)
		if ids2, _ := asked(t, z); len(ids) != 1 || len(ids2) != 1 {
			t.Fatalf("asked %v and %v, want each once", ids, ids2)
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

// The same holds for a call that was concluded in one write: a follower of its stream gets it.
func TestConcludedStreamsThatTheStoreLostAreRestored(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.backend.tools["quick"] = func(ctx context.Context, c *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			_ = sink.Emit(ctx, progress(1))
			return text("ok"), nil
		}
		w.forget()
		x := w.post(w.a, s, callTool(1, "quick"))
		if w.medium.Stats().Streams != 0 {
			t.Fatal("nothing was lost")
		}
		for range 2 { // the second call has no effect
			w.returned()
		}
		after(2 * time.Second)
		w.wantMessages(x, progressMessage(1), `{"jsonrpc":"2.0","id":1,"result":{"text":"ok"}}`)
		if n := len(w.backend.seen()); n != 1 || !x.ended() {
			t.Errorf("%d runs, ended %v", n, x.ended())
		}
	})
}

// A write may be acknowledged before the store is lost, and recorded only after the store is back.
func TestEndsThatAreNotedLate(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		s := w.initialize(v1125)
		w.returned()
		after(time.Second)
		w.forget()
		w.backend.tools["ask"] = asking(elicit("name"))
		x := w.post(w.a, s, callTool(1, "ask"))
		after(state.Timeout)
		if ids, _ := asked(t, x); len(ids) != 1 {
			t.Errorf("asked %v", ids)
		}
	})
}

// A call that is taken over runs with the rights with which it began, not with those of the
// session.
func TestTakeoverKeepsTheCallersRights(t *testing.T) {
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		w.who = mcp.Principal{Subject: "u", Issuer: "https://i", Scopes: []string{"admin"}, Roles: []string{"root"}}
		s := w.initialize(v1125)
		w.backend.tools["safe"] = func(ctx context.Context, c *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			_ = sink.Emit(ctx, progress(float64(c.Attempt)))
			if c.Attempt == 1 {
				<-ctx.Done()
			}
			return text("x"), nil
		}
		w.who.Scopes, w.who.Roles = []string{"read"}, nil
		w.post(w.a, s, callTool(1, "safe"))
		w.lose()
		after(20 * time.Second)
		for _, c := range w.backend.seen() {
			if len(c.Principal.Scopes) != 1 || c.Principal.Scopes[0] != "read" || c.Principal.Roles != nil {
				t.Errorf("attempt %d ran with scopes %v and roles %v", c.Attempt, c.Principal.Scopes, c.Principal.Roles)
			}
		}
	})
}
