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

// A round that may run again ends while the reply to the Begin of its record is lost. The next one,
// which may not, waits for the record, whether its client stays or leaves: the replica is lost, and
// the one that takes over the record that was begun nevertheless runs both.
func TestRoundsBehindALostBeginRunOnce(t *testing.T) {
	for name, leaves := range map[string]time.Duration{
		"with its client": 0, "without its client": 2500 * time.Millisecond, "without its client after the Begin failed": 3500 * time.Millisecond,
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, h *house) {
				h.wrap = func(s medium.Store) medium.Store { return deafBegin{s} }
				a := h.replica(false)
				h.wrap = nil
				k := h.send(a, "unsafe", harmlessTwice)
				if leaves > 0 {
					time.AfterFunc(leaves, k.stop)
				}
				sleep(2900 * time.Millisecond)
				h.replica(true)
				sleep(10 * time.Second)
				for round, want := range []int{1, 2, 1} {
					if n := h.ran("unsafe", round+1); n != want {
						t.Errorf("round %d ran %d times, want %d", round+1, n, want)
					}
				}
				h.wantOver("unsafe", call.HowEnded)
				sleep(time.Minute)
				if leaves > 0 {
					k.want("accepted")
				} else {
					k.want("body failure 1 of unsafe") // Its replica hears of nothing that it begins.
				}
			})
		})
	}
}

// harmlessTwice is a plan of three rounds. The second may run again, the third may not.
func harmlessTwice(ctx context.Context, round *medium.Record, _ func(float64)) *call.Reply {
	switch round.Round {
	case 1:
		return &call.Reply{Kind: call.Busy, Pause: 100 * time.Millisecond, State: []byte("harmless"), Resumable: true}
	case 2:
		pause(ctx, 2*time.Second)
		return &call.Reply{Kind: call.Busy, Pause: 100 * time.Millisecond, State: []byte("not harmless")}
	}
	return says("done")
}

// A call whose client has left while it was unknown whether its record has begun continues with the
// record, once that is known.
func TestBeginIsTriedAgainWithoutAClient(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		lost := make(chan struct{})
		h.wrap = func(s medium.Store) medium.Store { return &deaf{Store: s, until: lost} }
		k := h.send(h.replica(true), "unsafe", harmlessTwice)
		sleep(1500 * time.Millisecond)
		k.stop()
		sleep(5 * time.Second)
		if n := h.ran("unsafe", 3); n != 0 {
			t.Fatalf("round 3 ran %d times before the record was known", n)
		}
		close(lost)
		sleep(2 * time.Second)
		if n := h.ran("unsafe", 3); n != 1 {
			t.Errorf("round 3 ran %d times, want 1", n)
		}
		h.wantOver("unsafe", call.HowEnded)
		rec, log, _ := h.m.Call("unsafe")
		if rec.Phase != state.PhaseDone || len(log) != 1 || string(log[0].Data) != "done" {
			t.Errorf("the record is in phase %d, with the log %v", rec.Phase, log)
		}
	})
}

// A call whose client has left ends with its replica while it waits for the next attempt to begin its record.
func TestUnreadBeginsEndWithTheirReplica(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		lost := make(chan struct{})
		h.wrap = func(s medium.Store) medium.Store { return &deaf{Store: s, until: lost} }
		a := h.replica(true)
		k := h.send(a, "unsafe", harmlessTwice)
		sleep(1500 * time.Millisecond)
		k.stop()
		sleep(5 * time.Second)
		a.Close()
		h.wantOver("unsafe", call.HowEnded)
		if ids := a.IDs(); len(ids) > 0 {
			t.Errorf("%v still run", ids)
		}
	})
}

// A Begin that may have been lost is repeated to end what it may have left. If the replica is lost between the two, no other one runs the
// call, which has ended.
func TestRecordsThatAreOnlyEndedDoNotRun(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		s := &cleansOnce{}
		h.wrap = func(st medium.Store) medium.Store { s.Store = st; return s }
		a := h.replica(false)
		h.wrap = nil
		k := h.send(a, "unsafe", func(ctx context.Context, round *medium.Record, _ func(float64)) *call.Reply {
			if round.Round == 1 {
				return &call.Reply{Kind: call.Busy, Pause: 100 * time.Millisecond, State: []byte("harmless"), Resumable: true}
			}
			pause(ctx, 2*time.Second)
			return says("done")
		})
		sleep(10 * time.Second)
		k.want("body done")
		if s.begins < 2 {
			t.Fatalf("%d Begins, want another one that ends the record", s.begins)
		}
		h.replica(true)
		sleep(10 * time.Second)
		synctest.Wait()
		if n := h.ran("unsafe", 2); n != 1 {
			t.Errorf("round 2 ran %d times, want 1", n)
		}
		if rec, _, _ := h.m.Call("unsafe"); rec.Phase != state.PhaseDone {
			t.Errorf("the record is in phase %d", rec.Phase)
		}
	})
}

// cleansOnce is a store that never gets its first Begin, and only Begins afterwards.
type cleansOnce struct {
	medium.Store
	begins int
}

func (s *cleansOnce) Commit(ctx context.Context, w *medium.Write) error {
	if len(w.Begin) == 0 {
		return state.ErrUnavailable
	}
	if s.begins++; s.begins == 1 {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.Store.Commit(ctx, w)
}
