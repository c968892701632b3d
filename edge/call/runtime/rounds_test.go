package runtime

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/state/statetest/model"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// OpenState reads the state that keptState made. A malformed state has no span and no state of the
// backend.
func TestKeptState(t *testing.T) {
	sc := telemetry.ParseParent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	for _, round := range []trace.SpanContext{{}, sc} {
		for _, own := range []string{"", "x", "state \x00\xff"} {
			asked, got, back, kept := OpenState(keptState(300, round, []byte(own)))
			if !kept || asked != 300 || !got.Equal(round) || string(back) != own {
				t.Errorf("%q under %v came back as %d, %v, %q", own, round, asked, got, back)
			}
		}
	}
	for _, spoilt := range []string{"", "\x80", "\x01", "\x01\x80", "\x01\x09x"} {
		if _, got, own, _ := OpenState([]byte(spoilt)); got.IsValid() || own != nil {
			t.Errorf("%q gives %v, %q", spoilt, got, own)
		}
	}
}

// dispatcher is a Dispatcher that is a function.
type dispatcher func(*mcp.Call) (mcp.Reply, error)

func (d dispatcher) Call(_ context.Context, _ *revision.Rules, c *mcp.Call, _ mcp.Sink) (mcp.Reply, error) {
	return d(c)
}

// roundsOf returns the rounds of a call on a replica without a store.
func roundsOf(t *testing.T, first mcp.Call) *Rounds {
	t.Helper()
	r := New(func(h medium.Hooks) medium.Store { return (&model.Medium{}).Replica(h) }, Options{Call: &call.Config{}, MaxRounds: 2, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(r.Close)
	x := &Rounds{Rules: revision.Stateless(), First: first, Context: t.Context(), Served: "served"}
	x.Init(r, nil)
	return x
}

// A round is made from the first one, or from the state and the answers of the previous one.
func TestRounds(t *testing.T) {
	x := roundsOf(t, mcp.Call{ID: "c", Round: 3, State: []byte("request"), Responses: []mcp.InputResponse{{Key: "before"}}, HTTP: mcp.HTTP{Header: map[string][]string{}}, Target: &mcp.Target{}})
	round := &medium.Record{}
	round.Round, round.Attempt = 1, 1
	m, kept := x.Next(round, nil)
	if kept || m.Round != 3 || m.Begun || string(m.State) != "request" || len(m.Responses) != 1 || m.Backend != "" || x.Asked != 2 {
		t.Errorf("the first round is %+v", m)
	}
	in := &mcp.InputRequired{State: []byte("own"), RetryAfter: time.Millisecond, Repeatable: true}
	if _, err := x.Call(t.Context(), dispatcher(func(c *mcp.Call) (mcp.Reply, error) {
		if c.HTTP.Header == nil || c.Target == nil {
			t.Error("the first round lacks the headers or the target of its request")
		}
		x.Bind("b")
		return mcp.Reply{Input: in}, nil
	}), m, nil); err != nil {
		t.Fatal(err)
	}
	busy := x.Repeat(in)
	if busy.Kind != call.Busy || busy.Pause != minRetry || !busy.Resumable {
		t.Errorf("a busy backend gives %+v", busy)
	}
	round = &medium.Record{}
	round.Round, round.Attempt, round.State = 2, 1, busy.State
	round.Asked = []medium.Question{
		answered(mcp.MethodElicit, state.Answer{Result: []byte(`{"a":1}`)}), answered(mcp.MethodElicit, state.Answer{Error: []byte(`{}`)}),
		answered(mcp.MethodElicit, state.Answer{Withdrawn: true}), {},
	}
	m, kept = x.Next(round, nil)
	if !kept || m.Round != 3 || !m.Begun || string(m.State) != "own" || m.Backend != "b" || m.HTTP.Header != nil || m.Target != nil {
		t.Errorf("the second round is %+v", m)
	}
	if len(m.Responses) != 2 || string(m.Responses[0].Result) != `{"a":1}` || string(m.Responses[1].Result) != `{"action":"cancel"}` {
		t.Errorf("the second round has the answers %+v", m.Responses)
	}
	asks := x.Ask(in, trace.SpanContext{}, nil)
	if asked, _, own, _ := OpenState(asks.State); asks.Kind != call.Asks || asked != 3 || string(own) != "own" {
		t.Errorf("a round that asks gives %+v", asks)
	}
	if err := x.CheckRounds(&mcp.InputRequired{Requests: []mcp.InputRequest{{Key: "k"}}}); mcp.AsError(err).Kind != mcp.KindQuota {
		t.Errorf("asking in round 3 of 2 gives %v", err)
	}
}

// A panic of the backend's code ends the call with an error that does not reveal it.
func TestRoundPanics(t *testing.T) {
	x := roundsOf(t, mcp.Call{ID: "c"})
	m, _ := x.Next(&medium.Record{}, nil)
	_, err := x.Call(t.Context(), dispatcher(func(*mcp.Call) (mcp.Reply, error) { panic("secret") }), m, nil)
	if e := mcp.AsError(err); e.Kind != mcp.KindInternal || e.Message != "internal error" {
		t.Errorf("got %v", err)
	}
}

// The charge of a call is released with its last use.
func TestRoundsHoldMemory(t *testing.T) {
	memory := budget.New(64 << 20)
	x := roundsOf(t, mcp.Call{})
	x.Init(x.r, memory.Named("alice"))
	if err := x.Charge(SmallParams, 2); err != nil || memory.UsedFor(budget.Calls) != 0 {
		t.Errorf("small params are charged: %v", err)
	}
	if err := x.Charge(1<<20, 2); err != nil || memory.UsedFor(budget.Calls) < 2<<20 {
		t.Errorf("%d bytes are charged: %v", memory.UsedFor(budget.Calls), err)
	}
	if err := x.Charge(1<<30, 2); mcp.AsError(err).Kind != mcp.KindOverloaded {
		t.Errorf("more than there is gives %v", err)
	}
	x.Hold()
	if x.Release(); memory.UsedFor(budget.Calls) == 0 {
		t.Error("the charge is released while it has a user")
	}
	if x.Release(); memory.UsedFor(budget.Calls) != 0 {
		t.Error("the charge is not released")
	}
}

// A new record has the backend to which the call is bound, otherwise the one to which it was
// resolved.
func TestRoundsFill(t *testing.T) {
	x := roundsOf(t, mcp.Call{
		Method: mcp.MethodToolsCall, Principal: mcp.Principal{Subject: "alice"}, Params: mcp.Params{Sent: mcp.Sent{Target: "shown"}, Target: "canonical"},
	})
	x.First.Params.SetAdded([]byte(`{}`))
	for _, one := range []struct {
		do   func()
		want string
	}{{func() {}, "served"}, {func() { x.Bind("b") }, "b"}, {x.Settle, "b"}} {
		one.do()
		var r medium.Record
		if x.Fill(&r); r.Backend != one.want || r.Method != mcp.MethodToolsCall || r.Principal.Subject != "alice" || r.Shown != "shown" || string(r.Added) != "{}" {
			t.Errorf("the record is %+v, want backend %q", r, one.want)
		}
	}
}

func answered(m mcp.Method, a state.Answer) medium.Question {
	q := medium.Question{Answer: &a}
	q.Method = m
	return q
}

// The record of a call may begin while its first round starts; the race detector observes both.
func TestRecordsBeginWhileARoundStarts(t *testing.T) {
	x := Rounds{First: mcp.Call{Method: mcp.MethodToolsCall}, Served: "b"}
	var both sync.WaitGroup
	both.Go(func() { x.Next(&medium.Record{}, nil) })
	r := new(medium.Record)
	x.Fill(r)
	both.Wait()
	if r.Backend != "b" {
		t.Errorf("the record has the backend %q", r.Backend)
	}
}
