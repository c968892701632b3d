package call

import (
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// This file has how a call begins, by its request or by a claim, and how its rounds run.

// run calls the backend for the round.
func (c *Call) run(buf []Effect) []Effect {
	return append(buf, Effect{Kind: Run, Record: c.round})
}

func start(c *Call, _ Event, buf []Effect) []Effect {
	c.state = Direct
	return c.run(buf)
}

// claimed decides how a call continues after its owner changed.
func claimed(c *Call, e Event, buf []Effect) []Effect {
	c.round = e.Record
	c.j.attach(e.Record, c.o.Brief)
	r := c.round
	switch {
	case r.Cancelled:
		return c.end(c.silent(), buf)
	case e.Late:
		return c.fail(Late, buf)
	case e.Reply != nil: // The client refused what only it could give.
		return c.end(e.Reply, buf)
	case e.Why == ByLoss && r.Phase == state.PhaseWaiting:
		return c.fail(Late, buf)
	case e.Why == ByLoss && r.Phase == state.PhaseDispatched && !r.Repeatable && !r.Resumable:
		return c.fail(UnknownOutcome, buf)
	case e.Why == ByLoss && r.Phase == state.PhaseDispatched && r.Lapses >= c.o.MaxAttempts:
		return c.fail(Poison, buf)
	}
	c.told, c.hasTold = r.Progress, r.HasProgress
	c.suppressed = r.HasProgress && r.Phase == state.PhaseDispatched
	if c.o.Claimed != nil {
		c.j.precede(c.o.Claimed(r))
	}
	return c.mark(buf)
}

// mark writes that the backend is being called.
func (c *Call) mark(buf []Effect) []Effect {
	c.state = Marking
	w := &medium.Write{Next: medium.NextDispatched}
	if c.j.rec.Round != c.round.Round { // The step with this round was not sent yet.
		w.Round, w.State, w.Resumable = c.round.Round, c.round.State, c.round.Resumable
	}
	c.j.take(w)
	return c.j.flush(buf)
}

func runWhenMarked(c *Call, _ Event, buf []Effect) []Effect {
	done, buf := c.j.stored(buf)
	if done == medium.NextDispatched {
		c.state = Running
		buf = c.run(buf)
	}
	return c.j.flush(buf)
}

// push queues an event of the backend. Progress only rises, over all rounds and attempts.
func (c *Call) push(e Event, buf []Effect) []Effect {
	if e.Entry.Kind == state.EntryProgress {
		if c.hasTold && e.Entry.Progress <= c.told {
			return buf
		}
		c.told, c.hasTold, c.suppressed = e.Entry.Progress, true, false
	}
	if c.suppressed {
		return buf
	}
	return dropped(c.j.push(e.Entry), NoFault, buf)
}

func gatherEntry(c *Call, e Event, buf []Effect) []Effect {
	buf = c.push(e, buf)
	if !c.wanted && len(c.j.queue) > 0 {
		c.wanted = true
		buf = append(buf, Effect{Kind: SetTimer, Timer: TimerFlush, After: gather})
	}
	return buf
}

func wantOnFlush(c *Call, e Event, buf []Effect) []Effect {
	if e.Timer != TimerFlush {
		return buf
	}
	return append(buf, Effect{Kind: Want})
}

// noteCheckpoint keeps the state to rerun the round from, for a later record.
func noteCheckpoint(c *Call, e Event, buf []Effect) []Effect {
	c.noted = e.State
	return buf
}

// checkpoint writes the state to rerun the round from.
func checkpoint(c *Call, e Event, buf []Effect) []Effect {
	c.j.checkpoint(c.round.Round, e.State)
	return c.j.flush(buf)
}

// unwant drops the queue: the exchange cannot become a stream for now.
func unwant(c *Call, _ Event, buf []Effect) []Effect {
	c.wanted = false
	return dropped(c.j.drop(), Gone, buf)
}

// dropped reports events that readers lose.
func dropped(n int, f Fault, buf []Effect) []Effect {
	if n == 0 {
		return buf
	}
	return append(buf, Effect{Kind: Dropped, Count: int32(n), Fault: f}) // #nosec G115 -- at most queueEntries
}

func writeEntry(c *Call, e Event, buf []Effect) []Effect { return c.j.flush(c.push(e, buf)) }

// decide passes the outcome to the exchange, since there is no record.
func decide(c *Call, e Event, buf []Effect) []Effect {
	c.reply = e.Reply
	if e.Reply.Kind == Busy {
		c.busy(e.Reply)
		return append(buf, Effect{Kind: SetTimer, Timer: TimerPause, After: e.Reply.Pause})
	}
	c.state = Decided
	if e.Reply.Kind == Asks || len(c.j.queue) > 0 {
		buf = append(buf, Effect{Kind: Want})
	}
	if e.Reply.Kind == Asks {
		return buf
	}
	return append(buf, Effect{Kind: Outcome, Reply: c.reply})
}

// busy prepares the next round, which needs nothing from the client.
func (c *Call) busy(r *Reply) {
	c.state, c.noted = Pausing, nil
	next := *c.round
	next.State, next.Asked, next.Resumable = r.State, nil, r.Resumable
	next.Round, next.Attempt = next.Round+1, 1
	c.round = &next
}

// decideBy ends a call without a record before its backend has returned.
func (c *Call) decideBy(r *Reply, buf []Effect) []Effect {
	if c.state == Direct {
		buf = append(buf, Effect{Kind: Stop})
	}
	c.state, c.reply = Decided, r
	return append(buf, Effect{Kind: Outcome, Reply: r})
}

func (c *Call) failure(f Failure) *Reply {
	return c.failureOf(f, nil)
}

// failureOf returns a failure with the store's error, which may be nil.
func (c *Call) failureOf(f Failure, err error) *Reply {
	return &Reply{Kind: Final, Failure: f, Err: err, Response: c.o.Render(c.Record(), f, err)}
}

func decideSilently(c *Call, _ Event, buf []Effect) []Effect {
	c.cancelled = true
	return c.decideBy(c.silent(), buf)
}
func decideLate(c *Call, _ Event, buf []Effect) []Effect { return c.decideBy(c.failure(Late), buf) }
func decideGone(c *Call, _ Event, buf []Effect) []Effect {
	return c.decideBy(c.failure(NoSession), buf)
}
func decideLeaving(c *Call, _ Event, buf []Effect) []Effect {
	return c.decideBy(c.failure(Leaving), buf)
}

// withdraw replaces questions that were not sent yet. A response stands.
func (c *Call) withdraw(r *Reply, buf []Effect) []Effect {
	if c.reply.Kind != Asks {
		return buf
	}
	return c.decideBy(r, buf)
}

func withdrawSilently(c *Call, _ Event, buf []Effect) []Effect {
	c.cancelled = true
	return c.withdraw(c.silent(), buf)
}
func withdrawLate(c *Call, _ Event, buf []Effect) []Effect { return c.withdraw(c.failure(Late), buf) }
func withdrawGone(c *Call, _ Event, buf []Effect) []Effect {
	return c.withdraw(c.failure(NoSession), buf)
}
func withdrawLeaving(c *Call, _ Event, buf []Effect) []Effect {
	return c.withdraw(c.failure(Leaving), buf)
}

// refuseAsks ends a call that cannot ask its client. If the session is gone, it replaces any
// outcome.
func refuseAsks(c *Call, e Event, buf []Effect) []Effect {
	f := NoStore
	switch e.Fault {
	case Gone:
		return c.decideBy(c.failure(NoSession), buf)
	case NoRoom:
		return c.withdraw(c.failureOf(Full, e.Err), buf)
	case Fenced:
		f = Unheard
	}
	return c.withdraw(c.failure(f), buf)
}

func attachRunning(c *Call, e Event, buf []Effect) []Effect {
	c.state = Running
	c.j.attach(e.Record, c.o.Brief)
	c.takeRound(medium.NextDispatched)
	if c.noted != nil {
		c.j.checkpoint(c.round.Round, c.noted)
	}
	return c.j.flush(buf)
}

func attachPausing(c *Call, e Event, buf []Effect) []Effect {
	c.j.attach(e.Record, c.o.Brief)
	c.takeRound(medium.NextReady)
	return c.j.flush(buf)
}

// takeRound writes the round if the record began in an earlier one, and the phase if the backend
// waits to be called: a record begins as dispatched.
func (c *Call) takeRound(next medium.Next) {
	if c.j.rec.Round != c.round.Round || next == medium.NextReady && c.j.rec.Phase != state.PhaseReady {
		c.j.take(&medium.Write{Next: next, Round: c.round.Round, State: c.round.State, Resumable: c.round.Resumable})
	}
}

func attachFinishing(c *Call, e Event, buf []Effect) []Effect {
	c.j.attach(e.Record, c.o.Brief)
	return c.finishBy(c.reply, buf)
}
