package call

import (
	"bytes"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// This file contains the start of a call by its request, and the run of its rounds.

// run calls the backend for the round.
func (c *Call) run(buf []Effect) []Effect {
	return append(buf, Effect{Kind: Run, Record: c.round})
}

func start(c *Call, _ Event, buf []Effect) []Effect {
	c.state = Direct
	return c.run(buf)
}

// push queues an event of the backend. Progress only increases, over all rounds and attempts.
func (c *Call) push(e Event, buf []Effect) []Effect {
	if e.Entry.Kind == state.EntryProgress {
		if c.hasProgress && e.Entry.Progress <= c.progress {
			return buf
		}
		c.progress, c.hasProgress, c.suppressed = e.Entry.Progress, true, false
	}
	if c.suppressed {
		return buf
	}
	return reportDropped(c.j.push(e.Entry), NoFault, buf)
}

func gatherEntry(c *Call, e Event, buf []Effect) []Effect {
	first := len(c.j.queue) == 0
	if buf = c.push(e, buf); first && len(c.j.queue) > 0 {
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

// keepCheckpoint keeps the state from which the round may run again, for a later record.
func keepCheckpoint(c *Call, e Event, buf []Effect) []Effect {
	c.checkpoint = e.State
	return buf
}

// checkpoint writes the state from which the round may run again.
func checkpoint(c *Call, e Event, buf []Effect) []Effect {
	c.j.checkpoint(c.round.Round, e.State)
	return c.j.flush(buf)
}

// dropQueue drops the queue: the exchange cannot become a stream for now.
func dropQueue(c *Call, e Event, buf []Effect) []Effect {
	c.noteRefused(e.Fault)
	return reportDropped(c.j.drop(), Gone, buf)
}

// reportDropped reports events that readers lose.
func reportDropped(n int, f Fault, buf []Effect) []Effect {
	if n == 0 {
		return buf
	}
	return append(buf, Effect{Kind: Dropped, Count: int32(n), Fault: f}) // #nosec G115 -- at most queueEntries
}

func writeEntry(c *Call, e Event, buf []Effect) []Effect { return c.j.flush(c.push(e, buf)) }

// decide passes the reply to the exchange, since there is no record.
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
	return append(buf, Effect{Kind: Decide, Reply: c.reply})
}

// busy prepares the next round, which needs no answer of the client.
func (c *Call) busy(r *Reply) {
	c.state, c.checkpoint = Pausing, nil
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
	return append(buf, Effect{Kind: Decide, Reply: r})
}

// failure returns the reply for a failure with the store's error, which may be nil. It fits any limit.
func (c *Call) failure(f Failure, err error) *Reply {
	return &Reply{Kind: Final, Failure: f, Err: err, Response: c.o.Render(c.Record(), f, err)}
}

// settle is decideBy, but it does not replace the backend's response, only questions that were not
// sent yet.
func (c *Call) settle(r *Reply, buf []Effect) []Effect {
	if c.state == Decided && c.reply.Kind != Asks {
		return buf
	}
	return c.decideBy(r, buf)
}

// refuseAsks ends a call that cannot ask its client. If the session is gone, it replaces any
// reply.
func refuseAsks(c *Call, e Event, buf []Effect) []Effect {
	switch e.Fault {
	case Gone:
		return c.decideBy(c.failure(NoSession, nil), buf)
	case NoRoom:
		return c.settle(c.failure(Full, e.Err), buf)
	case Fenced:
		return c.settle(c.failure(NoClient, nil), buf)
	}
	return c.settle(c.failure(NoStore, nil), buf)
}

// initialRecord returns the record with which the call begins: its round, from its checkpoint if there is
// one. before is the record of an earlier Begin, which a repeated one has; nil means none. If before was
// refused and its round is over, the record does not permit another run of that round, because later ones
// have run without a record.
func (c *Call) initialRecord(before *medium.Record) *medium.Record {
	own := *c.round
	if before != nil {
		own = *before
	} else if c.checkpoint != nil {
		own.State, own.Resumable = c.checkpoint, true
	}
	switch {
	case !own.Resumable || c.offered > 0:
	case own.Round == c.round.Round:
		c.offered = own.Round
	default:
		own.Resumable = false
	}
	return &own
}

// noteRefused records that the record has not begun, unless f is Unavailable, with which it may have,
// IDTaken, with which another replica has it, or Gone, with which another replica may have had it.
func (c *Call) noteRefused(f Fault) {
	if f != Unavailable && f != IDTaken && f != Gone {
		c.offered = 0
	}
}

// awaitsBegin reports whether the record that may have begun permits another run of a round before
// the next one. The next one then waits until the record exists: otherwise, if this replica were
// lost, another one would run both.
func (c *Call) awaitsBegin() bool { return c.offered > 0 && c.offered < c.round.Round }

// refusePause runs the next round, if it waits for the record, without one. After Unavailable the
// record may exist, and the exchange begins it again. After IDTaken another replica has taken it
// over. After Gone one may have done so, and the session has ended since.
func refusePause(c *Call, e Event, buf []Effect) []Effect {
	switch c.noteRefused(e.Fault); {
	case c.awaitsBegin() && e.Fault == IDTaken:
		return c.decideBy(c.failure(UnknownOutcome, nil), buf)
	case c.awaitsBegin() && e.Fault == Gone:
		return c.decideBy(c.failure(NoSession, nil), buf)
	case c.awaitsBegin() || !c.overdue:
		return buf
	}
	c.overdue, c.state = false, Direct
	return c.run(buf)
}

func attachRunning(c *Call, e Event, buf []Effect) []Effect {
	c.state = Running
	c.j.attach(e.Record, c.o.Brief)
	if c.j.rec.Round != c.round.Round {
		c.j.step = c.write(medium.NextDispatched)
	}
	if c.checkpoint != nil && !(e.Record.Resumable && bytes.Equal(e.Record.State, c.checkpoint)) {
		c.j.checkpoint(c.round.Round, c.checkpoint)
	}
	return c.j.flush(buf)
}

func attachPausing(c *Call, e Event, buf []Effect) []Effect {
	c.j.attach(e.Record, c.o.Brief)
	if c.overdue {
		c.overdue = false
		buf = append(buf, Effect{Kind: SetTimer, Timer: TimerPause})
	}
	// A record begins as dispatched. The step has its round in any case: a Runner learns from it what the store has.
	c.j.step = &medium.Write{Next: medium.NextReady, Round: c.round.Round, State: c.round.State, Resumable: c.round.Resumable}
	return c.j.flush(buf)
}

// write returns a step to a phase. It has the round if the record has an earlier one.
func (c *Call) write(next medium.Next) *medium.Write {
	w := &medium.Write{Next: next}
	if c.j.rec.Round != c.round.Round {
		w.Round, w.State, w.Resumable = c.round.Round, c.round.State, c.round.Resumable
	}
	return w
}

func attachFinishing(c *Call, e Event, buf []Effect) []Effect {
	c.j.attach(e.Record, c.o.Brief)
	return finish(c, Event{Reply: c.reply}, buf)
}
