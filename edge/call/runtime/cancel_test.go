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

// wantDone checks that the record of a call is done.
func (h *house) wantDone(id string) {
	h.t.Helper()
	synctest.Wait()
	if rec, _, ok := h.m.Call(id); !ok || rec.Phase != state.PhaseDone {
		h.t.Errorf("%s is in phase %d, want %d", id, rec.Phase, state.PhaseDone)
	}
}

// A cancellation finds a machine, and reaches it only after the machine has asked. It cancels the
// waiting call.
func TestCancelReachesAMachineThatHasAsked(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		r := h.replica(false)
		h.send(r, "c", func(ctx context.Context, round *medium.Record, send func(float64)) *call.Reply {
			send(1)
			pause(ctx, time.Second)
			return h.asksFirst(1)(ctx, round, send)
		})
		sleep(500 * time.Millisecond)
		found := r.Driver("c")
		if found == nil {
			t.Fatal("the call does not run")
		}
		sleep(time.Second)
		h.wantOver("c", call.HowParked)
		found.Cancel()
		h.wantDone("c")
		h.wantOver("c", call.HowParked, call.HowEnded)
		found.Cancel()
		h.wantOver("c", call.HowParked, call.HowEnded)
	})
}

// A cancellation finds a machine, and reaches it only after the machine has lost the call. It
// cancels the call at its new owner.
func TestCancelReachesAMachineThatHasLostTheCall(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		a, b := h.replica(false), h.replica(false)
		h.send(a, "safe", func(ctx context.Context, _ *medium.Record, send func(float64)) *call.Reply {
			for v := 1.0; ctx.Err() == nil; v++ {
				send(v)
				pause(ctx, time.Second)
			}
			return says("r")
		})
		sleep(500 * time.Millisecond)
		found := a.Driver("safe")
		b.takeOver(medium.ClaimTarget{Session: session, Call: "safe"}, call.ByLoss)
		sleep(2 * time.Second)
		h.wantOver("safe", call.HowLost)
		found.Cancel()
		h.wantDone("safe")
		sleep(3 * time.Second)
		h.wantOver("safe", call.HowLost, call.HowEnded, call.HowLost)
	})
}

// holdsSteps is a store that delays the reply to steps that end a call.
type holdsSteps struct {
	medium.Store
	held chan struct{}
}

func (s *holdsSteps) Commit(ctx context.Context, w *medium.Write) error {
	if w.Next == medium.NextDone {
		select {
		case <-s.held:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return s.Store.Commit(ctx, w)
}

// A call that is cancelled between Begin and its run stays cancelled: the late run does not replace
// the machine that cancels.
func TestCancelledBeforeItBegins(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		s := &holdsSteps{held: make(chan struct{})}
		h.wrap = func(st medium.Store) medium.Store { s.Store = st; return s }
		r := h.replica(false)
		rec := &medium.Record{Session: session}
		rec.ID, rec.RequestID, rec.Round, rec.Attempt, rec.Deadline = "c", "c", 1, 1, time.Now().Add(time.Minute)
		if !r.work.Enter() {
			t.Fatal("closed")
		}
		defer r.work.Leave()
		begin, err := r.Begin(t.Context(), rec, nil, &Claimed{Runner: &testRunner{h: h, id: "c"}, Context: context.Background()})
		if err != nil {
			t.Fatal(err)
		}
		r.Cancel(session, "c", nil)
		synctest.Wait()
		begin()
		h.wantOver("c", call.HowLost)
		sleep(3 * time.Second) // The first attempt to end the call gets no reply in time.
		close(s.held)
		sleep(2 * time.Second)
		h.wantDone("c")
		h.wantOver("c", call.HowLost, call.HowEnded)
		if n := h.ran("c", 1); n != 0 {
			t.Errorf("the backend was called %d times", n)
		}
	})
}

// A cancellation finds no call. Its repetition does not cancel a call that began later with the same
// request id.
func TestCancelledAgainSparesALaterCall(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		a, b := h.replica(false), h.replica(false)
		a.Cancel(session, "c", nil)
		h.begin(b, "c", h.asksLater(time.Minute))
		sleep(2 * cancelAgain)
		if rec, _, ok := h.m.Call("c"); !ok || rec.Cancelled {
			t.Errorf("the later call: exists %v, cancelled %v", ok, ok)
		}
		h.wantOver("c")
		if n := a.cancelRetries.Load(); n != 0 {
			t.Errorf("%d repetitions are pending", n)
		}
	})
}

// A cancellation finds no record of a call that runs. Its repetition finds the record.
func TestCancelledAgainFindsTheRecordOfAnEarlierCall(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		a, b := h.replica(false), h.replica(false)
		began := time.Now()
		sleep(time.Second)
		a.Cancel(session, "c", nil)
		h.beginUntil(b, "c", began.Add(a.o.Lifetime), h.asksLater(time.Minute))
		sleep(2 * cancelAgain)
		h.wantDone("c")
	})
}
