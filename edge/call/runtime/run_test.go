package runtime

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

func TestOneBody(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		k := h.send(h.replica(false), "c", after(10*time.Millisecond, "r"))
		sleep(10 * time.Millisecond)
		k.want("body r")
		h.wantOver("c", call.HowEnded)
		if all := h.m.Records(); len(all) > 0 {
			t.Errorf("the store has %d records of a call that needs none", len(all))
		}
	})
}

func TestStream(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		r := h.replica(false)
		k := h.send(r, "c", counts(3, 100*time.Millisecond))
		slow := h.send(r, "slow", after(3*time.Second, "r"))
		sleep(150 * time.Millisecond)
		k.want("progress 1 of run 1, progress 2 of run 1, …")
		slow.want("…")
		sleep(time.Second)
		k.want("progress 1 of run 1, progress 2 of run 1, progress 3 of run 1, done")
		slow.mu.Lock()
		if !slow.streams || len(slow.got) != 1 || slow.got[0].ID == "" {
			t.Errorf("after stream-after the exchange is a stream: %v, with %v", slow.streams, slow.got)
		}
		slow.mu.Unlock()
		sleep(2 * time.Second)
		slow.want("r")
		h.wantOver("c", call.HowEnded)
		if rec, _, _ := h.m.Call("c"); rec.Phase != state.PhaseDone {
			t.Errorf("the record is in phase %d", rec.Phase)
		}
	})
}

// A quick call's progress and response are one write.
func TestQuickEventsAreOneWrite(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		k := h.send(h.replica(false), "c", counts(3, 0))
		sleep(2 * time.Millisecond)
		k.want("progress 1 of run 1, progress 2 of run 1, progress 3 of run 1, done")
		if rec, _, _ := h.m.Call("c"); rec.N != 1 {
			t.Errorf("%d writes, want 1", rec.N)
		}
	})
}

// A call waits for its client without a replica, and continues on another one.
func TestParkedAndResumed(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		a, b := h.replica(false), h.replica(false)
		k := h.send(a, "c", h.asksFirst(2))
		k.want("ask1, ask2, …")
		h.wantOver("c", call.HowParked)
		if out := h.answer(b, "ask2", "two"); out != state.AnswerTaken {
			t.Errorf("status %d of the first answer", out)
		}
		if out := h.answer(a, "ask1", "one"); out != state.AnswerCompleted {
			t.Errorf("status %d of the last answer", out)
		}
		k.want("ask1, ask2, heard one and two")
		if out := h.answer(b, "ask1", "late"); out != state.AnswerUnknown && out != state.AnswerDuplicate {
			t.Errorf("status %d of an answer that comes late", out)
		}
		h.wantOver("c", call.HowParked, call.HowEnded)
	})
}

// A parked call outlives all its replicas.
func TestParkedOutlivesItsReplicas(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		a := h.replica(true)
		k := h.send(a, "c", h.asksFirst(1))
		k.want("ask1, …")
		a.Close()
		k.want("ask1")
		b := h.replica(true)
		n := k.resume(b)
		h.answer(b, "ask1", "one")
		n.want("heard one")
	})
}

func TestBusyIsCalledAgain(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		k := h.send(h.replica(false), "c", func(_ context.Context, round *medium.Record, _ func(float64)) *call.Reply {
			if round.Round < 3 {
				return &call.Reply{Kind: call.Busy, State: []byte{byte(round.Round)}, Pause: time.Second}
			}
			return says("after " + string('0'+round.State[0]))
		})
		sleep(1500 * time.Millisecond)
		k.want("…")
		sleep(time.Second)
		k.want("after 2")
	})
}

func TestCancelled(t *testing.T) {
	long := func(h *house) plan {
		return func(ctx context.Context, _ *medium.Record, send func(float64)) *call.Reply {
			send(1)
			pause(ctx, 30*time.Second)
			return says("not to be heard")
		}
	}
	t.Run("in place", func(t *testing.T) {
		in(t, func(t *testing.T, h *house) {
			k := h.send(h.replica(false), "c", after(30*time.Second, "r"))
			synctest.Wait()
			k.call.Cancel()
			k.want("body ")
			h.wantOver("c", call.HowEnded)
		})
	})
	t.Run("running", func(t *testing.T) {
		in(t, func(t *testing.T, h *house) {
			k := h.send(h.replica(false), "c", long(h))
			sleep(10 * time.Millisecond)
			k.call.Cancel()
			k.want("progress 1 of run 1")
			h.wantOver("c", call.HowEnded)
		})
	})
	t.Run("at another replica", func(t *testing.T) {
		in(t, func(t *testing.T, h *house) {
			a, b := h.replica(false), h.replica(false)
			k := h.send(a, "c", long(h))
			sleep(10 * time.Millisecond)
			b.Cancel(session, "c", nil)
			k.want("progress 1 of run 1")
			sleep(31 * time.Second)
			h.mu.Lock()
			defer h.mu.Unlock()
			// The replica that ran the call is notified too, and both may try to end it.
			if ends := slices.DeleteFunc(slices.Clone(h.overs["c"]), func(how call.How) bool { return how != call.HowEnded }); len(ends) != 1 {
				t.Errorf("the runs ended with %v, want one that ended the call", h.overs["c"])
			}
		})
	})
	t.Run("at another replica, without a record", func(t *testing.T) {
		in(t, func(t *testing.T, h *house) {
			a, b := h.replica(false), h.replica(false)
			k := h.send(a, "c", after(30*time.Second, "r"))
			synctest.Wait()
			b.Cancel(session, "c", nil)
			k.want("body ")
		})
	})
	t.Run("parked", func(t *testing.T) {
		in(t, func(t *testing.T, h *house) {
			a, b := h.replica(false), h.replica(false)
			k := h.send(a, "c", h.asksFirst(1))
			k.want("ask1, …")
			b.Cancel(session, "c", nil)
			k.want("ask1")
			if out := h.answer(a, "ask1", "one"); out == state.AnswerCompleted {
				t.Error("the question of a cancelled call was answered")
			}
		})
	})
	t.Run("parked, at the replica that serves its stream", func(t *testing.T) {
		in(t, func(t *testing.T, h *house) {
			a := h.replica(false)
			k := h.send(a, "c", h.asksFirst(1))
			k.want("ask1, …")
			a.Cancel(session, "c", nil)
			k.want("ask1")
		})
	})
}

// A replica without heartbeats loses its calls. Another one runs the repeatable ones again. The
// first one's later writes are refused, and it stops.
func TestFenced(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		a := h.replica(false) // This replica sends no heartbeat.
		h.replica(true)
		k := h.send(a, "safe", counts(8, 900*time.Millisecond))
		u := h.send(a, "unsafe", counts(8, 900*time.Millisecond))
		sleep(20 * time.Second)
		k.want("progress 1 of run 1, progress 2 of run 1, progress 3 of run 1, progress 4 of run 1, progress 5 of run 1, " +
			"progress 6 of run 2, progress 7 of run 2, progress 8 of run 2, done")
		u.want("progress 1 of run 1, progress 2 of run 1, progress 3 of run 1, progress 4 of run 1, progress 5 of run 1, failure 9 of unsafe")
		h.wantOver("safe", call.HowLost, call.HowEnded)
		h.wantOver("unsafe", call.HowEnded, call.HowLost)
		if n := h.ran("safe", 1) + h.ran("unsafe", 1); n != 3 {
			t.Errorf("the backend ran %d times, want 2 and 1", n)
		}
	})
}

func TestStoreIsAway(t *testing.T) {
	t.Run("before there is a record", func(t *testing.T) {
		in(t, func(t *testing.T, h *house) {
			h.m.Away(true)
			k := h.send(h.replica(false), "c", counts(3, time.Second))
			sleep(5 * time.Second)
			k.want("body done")
			h.m.Away(false)
			sleep(30 * time.Second)
			if all := h.m.Records(); len(all) > 0 && all[0].Phase != state.PhaseDone {
				t.Errorf("a record stays: %+v", all[0])
			}
		})
	})
	t.Run("with a question to ask", func(t *testing.T) {
		in(t, func(t *testing.T, h *house) {
			h.m.Away(true)
			k := h.send(h.replica(false), "c", h.asksFirst(1))
			sleep(time.Second)
			k.want("body failure 8 of c")
		})
	})
	t.Run("while the call runs", func(t *testing.T) {
		in(t, func(t *testing.T, h *house) {
			k := h.send(h.replica(false), "c", counts(5, time.Second))
			sleep(1500 * time.Millisecond)
			h.m.Away(true)
			sleep(8 * time.Second)
			k.want("progress 1 of run 1, progress 2 of run 1, …")
			h.m.Away(false)
			sleep(3 * time.Second)
			k.want("progress 1 of run 1, progress 2 of run 1, progress 3 of run 1, progress 4 of run 1, progress 5 of run 1, done")
		})
	})
}

// A replica restores writes that the store lost, whether it is notified of the loss or detects it
// with its next write.
func TestStoreRewinds(t *testing.T) {
	for name, notified := range map[string]bool{"notified": true, "silent": false} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, h *house) {
				k := h.send(h.replica(true), "c", counts(5, time.Second))
				sleep(2500 * time.Millisecond)
				h.m.Rewind(3) // all writes
				if notified {
					h.m.Return()
				}
				n := k.resume(h.replica(true))
				sleep(4 * time.Second)
				k.want("progress 1 of run 1, progress 2 of run 1, progress 3 of run 1, progress 4 of run 1, progress 5 of run 1, done")
				if notified {
					n.want("progress 4 of run 1, progress 5 of run 1, done")
				}
				h.wantOver("c", call.HowEnded)
			})
		})
	}
}

// The replica that ran a call keeps its knowledge for a bounded time after the call has ended or
// parked.
func TestEndsAreRestored(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		a, b := h.replica(true), h.replica(true)
		k := h.send(a, "c", counts(2, 100*time.Millisecond))
		q := h.send(a, "q", h.asksFirst(1))
		sleep(time.Second)
		k.want("progress 1 of run 1, progress 2 of run 1, done")
		q.want("ask1, …")
		h.m.Rewind(10)
		if out := h.answer(b, "ask1", "one"); out != state.AnswerUnknown {
			t.Fatalf("the store knows the question still: status %d", out)
		}
		h.m.Return()
		sleep(5 * time.Second)
		q.want("ask1, heard one")
		if rec, log, _ := h.m.Call("c"); rec.Phase != state.PhaseDone || len(log) != 3 {
			t.Errorf("the call that had ended has phase %d and %d entries", rec.Phase, len(log))
		}
		if n := h.ran("c", 1); n != 1 {
			t.Errorf("it ran %d times", n)
		}
	})
}

// The notification about an outage of the store may arrive before the loss.
func TestNoticeComesEarly(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		r := h.replica(false)
		h.m.Return()
		sleep(500 * time.Millisecond)
		k := h.send(r, "c", h.asksFirst(1))
		synctest.Wait()
		h.m.Rewind(1)
		sleep(3 * time.Second)
		k.want("ask1, …")
		if rec, _, _ := h.m.Call("c"); rec.Phase != state.PhaseWaiting {
			t.Errorf("the call is in phase %d", rec.Phase)
		}
	})
}

func TestDeadline(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		r := h.replica(true)
		k := h.send(r, "running", counts(1, time.Hour))
		q := h.send(r, "waiting", h.asksFirst(1))
		sleep(59 * time.Second)
		k.want("progress 1 of run 1, …")
		sleep(5 * time.Second)
		k.want("progress 1 of run 1, failure 1 of running")
		q.want("ask1, failure 1 of waiting")
	})
	t.Run("without a store", func(t *testing.T) {
		in(t, func(t *testing.T, h *house) {
			h.m.Away(true)
			k := h.send(h.replica(false), "c", after(time.Hour, "r"))
			sleep(61 * time.Second)
			k.want("body failure 1 of c")
		})
	})
}

// The cancellation by a record that this replica does not know also ends its call.
func TestCancelledByARecordThatIsNotKnown(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		lost := make(chan struct{})
		h.wrap = func(s medium.Store) medium.Store { return &deaf{Store: s, until: lost} }
		r := h.replica(false)
		k := h.send(r, "c", func(context.Context, *medium.Record, func(float64)) *call.Reply {
			return &call.Reply{Kind: call.Busy, Pause: time.Minute}
		})
		sleep(4 * time.Second) // The record is stored, and the replies are lost.
		close(lost)
		r.Cancel(session, "c", nil)
		sleep(5 * time.Second)
		k.want("body ")
		if rec, _, _ := h.m.Call("c"); rec.Phase != state.PhaseDone {
			t.Errorf("the record is in phase %d", rec.Phase)
		}
	})
}

// deaf is a store whose replies to Begin are lost until a channel is closed.
type deaf struct {
	medium.Store
	until chan struct{}
}

func (d *deaf) Commit(ctx context.Context, w *medium.Write) error {
	err := d.Store.Commit(ctx, w)
	if len(w.Begin) > 0 && !isClosed(d.until) {
		return state.ErrUnavailable
	}
	return err
}

// A disconnect of the client does not cancel its call: the call continues and writes to its log, or
// has no reader.
func TestClientLeaves(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		r := h.replica(false)
		k := h.send(r, "c", counts(3, time.Second))
		u := h.send(r, "unheard", after(500*time.Millisecond, "r"))
		sleep(100 * time.Millisecond)
		k.stop()
		u.stop()
		k.want("progress 1 of run 1")
		u.want("accepted")
		n := k.resume(r)
		sleep(4 * time.Second)
		n.want("progress 2 of run 1, progress 3 of run 1, done")
		h.wantOver("unheard", call.HowEnded)
		h.wantOver("c", call.HowEnded)
	})
}

// A drain waits for running calls. Close leaves the remaining ones to other replicas, which
// continue them at once.
func TestDrainAndClose(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		a := h.replica(true)
		b := h.replica(true)
		short := h.send(a, "short", counts(2, time.Second))
		long := h.send(a, "safe long", counts(6, time.Second))
		place := h.send(a, "place", func(ctx context.Context, _ *medium.Record, _ func(float64)) *call.Reply {
			pause(ctx, time.Hour)
			return says("r")
		})
		sleep(100 * time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		a.Drain()
		if err := a.work.Wait(ctx); err == nil {
			t.Error("the drain says that nothing is left")
		}
		short.want("progress 1 of run 1, progress 2 of run 1, done")
		late := h.send(a, "late", after(time.Hour, "r"))
		synctest.Wait()
		a.Close()
		late.want("body failure 3 of late")
		place.want("")
		long.want("progress 1 of run 1, progress 2 of run 1, progress 3 of run 1")
		n, p := long.resume(b), place.resume(b)
		sleep(10 * time.Second)
		p.want("failure 9 of place")
		n.want("progress 4 of run 2, progress 5 of run 2, progress 6 of run 2, done")
		if rec, _, _ := h.m.Call("safe long"); rec.Lapses != 0 || rec.Attempt != 2 {
			t.Errorf("%d lapses in attempt %d, want none in the second", rec.Lapses, rec.Attempt)
		}
	})
}

// The end of a session ends its calls.
func TestSessionEnds(t *testing.T) {
	in(t, func(t *testing.T, h *house) {
		r := h.replica(false)
		k := h.send(r, "c", counts(2, time.Minute))
		p := h.send(r, "place", after(time.Minute, "r"))
		sleep(10 * time.Millisecond)
		k.call.End()
		p.call.End()
		p.want("body failure 2 of place")
		h.wantOver("c", call.HowGone)
	})
}
