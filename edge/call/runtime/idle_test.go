package runtime

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// A drain of calls that are idle between their rounds waits while the store has not acknowledged a step: another replica would take the
// call for one that was lost in its round.
func TestDrainWaitsForSteps(t *testing.T) {
	busy := func(_ context.Context, round *medium.Record, _ func(float64)) *call.Reply {
		if round.Round > 1 {
			return says("done")
		}
		return &call.Reply{Kind: call.Busy, State: []byte("job"), Pause: time.Minute}
	}
	for name, c := range map[string]struct {
		id   string
		plan func(h *house) plan
		// ends is when the round ends.
		ends time.Duration
		// then happens once the store is away.
		then  func(h *house, r *Replica)
		phase state.Phase
	}{
		"a response":              {"c", func(*house) plan { return after(3*time.Second, "done") }, 3 * time.Second, nil, state.PhaseDone},
		"a repeatable response":   {"safe", func(*house) plan { return after(3*time.Second, "done") }, 3 * time.Second, nil, state.PhaseDone},
		"questions":               {"c", func(h *house) plan { return h.asksLater(3 * time.Second) }, 3 * time.Second, nil, state.PhaseWaiting},
		"the state of a job":      {"c", func(*house) plan { return later(3*time.Second, busy) }, 3 * time.Second, nil, state.PhaseReady},
		"a call of the backend":   {"c", func(*house) plan { return later(time.Second, busy) }, time.Second, func(*house, *Replica) { sleep(time.Minute) }, state.PhaseDone},
		"what the store may lose": {"c", func(*house) plan { return busy }, 0, func(_ *house, r *Replica) { r.Returning() }, state.PhaseReady},
		"what a running one lost": {"safe", func(*house) plan { return after(time.Hour, "done") }, 0, func(_ *house, r *Replica) { r.Returning() }, state.PhaseDispatched},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, h *house) {
				h.idle = true
				r := h.replica(true)
				h.begin(r, c.id, c.plan(h))
				sleep(2 * time.Second)
				h.m.Away(true)
				if c.then != nil {
					c.then(h, r)
				}
				sleep(max(c.ends-2*time.Second, 0) + 10*time.Second)
				drained := make(chan error, 1)
				go func() { r.Drain(); drained <- r.work.WaitBusy(t.Context()) }()
				for range 1000 {
					sleep(11 * time.Millisecond)
					if len(drained) > 0 {
						t.Fatal("the drain did not wait for the store")
					}
				}
				h.m.Away(false)
				sleep(5 * time.Second)
				if len(drained) == 0 {
					t.Fatal("the drain waits although the store has everything")
				}
				if rec, _, _ := h.m.Call(c.id); rec.Phase != c.phase || rec.Lapses > 0 {
					t.Errorf("the record is in phase %d with %d lapses, want phase %d", rec.Phase, rec.Lapses, c.phase)
				}
			})
		})
	}
}

// begin begins a call without an exchange whose deadline is far.
func (h *house) begin(r *Replica, id string, p plan) {
	h.t.Helper()
	h.beginUntil(r, id, time.Now().Add(time.Hour), p)
}

// beginUntil begins a call without an exchange and with a deadline.
func (h *house) beginUntil(r *Replica, id string, deadline time.Time, p plan) {
	h.t.Helper()
	h.mu.Lock()
	h.plans[id] = p
	h.mu.Unlock()
	rec := &medium.Record{Session: session}
	rec.ID, rec.RequestID, rec.Round, rec.Attempt, rec.Deadline = id, id, 1, 1, deadline
	x := &testRunner{h: h, id: id}
	x.Deliver(Event{Begins: rec})
	begin, err := r.Begin(h.t.Context(), rec, nil, &Claimed{Runner: x, Context: context.Background()})
	if err != nil {
		h.t.Fatal(err)
	}
	begin()
	synctest.Wait()
}

// later returns a plan that runs another one after a delay.
func later(d time.Duration, p plan) plan {
	return func(ctx context.Context, round *medium.Record, send func(float64)) *call.Reply {
		pause(ctx, d)
		return p(ctx, round, send)
	}
}

// asksLater returns a plan that asks a question after a delay.
func (h *house) asksLater(d time.Duration) plan { return later(d, h.asksFirst(1)) }
