package call

import (
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// This file contains the writes and the end of a call under a lease.

// finish handles the backend's reply under a lease.
func finish(c *Call, e Event, buf []Effect) []Effect {
	r := e.Reply
	switch c.reply = r; r.Kind {
	case Asks:
		c.state = Finishing
		return c.ask(buf)
	case Busy:
		c.busy(r)
		c.j.step = c.write(medium.NextReady)
		return c.j.flush(append(buf, Effect{Kind: SetTimer, Timer: TimerPause, After: r.Pause}))
	}
	return c.end(r, buf)
}

// ask writes the questions as the last step.
func (c *Call) ask(buf []Effect) []Effect {
	w := c.write(medium.NextWaiting)
	w.Asks, w.State, w.Resumable = c.reply.Asks, c.reply.State, c.reply.Resumable
	w.Entries = c.completed(c.reply.Asks)
	for i := range c.reply.Asks {
		w.Entries = append(w.Entries, state.Entry{Kind: state.EntryRequest, Data: c.reply.Asks[i].Message})
	}
	c.j.step = w
	return c.j.flush(buf)
}

// end writes the response as the last step.
func (c *Call) end(r *Reply, buf []Effect) []Effect {
	c.state, c.reply = Finishing, r
	w := &medium.Write{Next: medium.NextDone}
	if r.Response != nil {
		data := r.Response
		if c.o.Keep != nil {
			data = c.o.Keep(data)
		}
		w.Entries = append(c.completed(nil), state.Entry{Kind: state.EntryResponse, Data: data})
	}
	c.j.step = w
	return c.j.flush(append(buf, Effect{Kind: Free}))
}

// completed returns the notices of URL elicitations that are complete.
func (c *Call) completed(asks []state.Ask) []state.Entry {
	if len(c.j.rec.Open) == 0 || c.o.Completed == nil {
		return nil
	}
	return c.o.Completed(c.j.rec, asks)
}

func (c *Call) fail(f Failure, err error, buf []Effect) []Effect {
	return c.end(c.failure(f, err), buf)
}

// finishBefore ends a call before its backend has returned.
func (c *Call) finishBefore(r *Reply, buf []Effect) []Effect {
	if c.j.link == unlinked {
		return c.settle(r, buf)
	}
	if c.state == Running {
		buf = append(buf, Effect{Kind: Stop})
	}
	return c.end(r, buf)
}

func finishSilently(c *Call, _ Event, buf []Effect) []Effect {
	c.noteCancelled()
	return c.finishBefore(c.cancelledReply(), buf)
}

func finishLate(c *Call, _ Event, buf []Effect) []Effect {
	return c.finishBefore(c.failure(Late, nil), buf)
}

// leave gives up a call with a record, without a write to the store. If its last step was acknowledged, the run
// ends as that step says instead.
func (c *Call) leave(how How, buf []Effect) []Effect {
	if c.how != 0 {
		return c.endRun(buf)
	}
	if c.state == Running {
		buf = append(buf, Effect{Kind: Stop})
	}
	if how == HowLost {
		// If the store loses the other owner's claim, this may be the only copy.
		buf = append(buf, Effect{Kind: Keep, Record: c.j.rec, Entries: c.j.window})
		if c.cancellation != 0 { // The runner may hold what the other owner does not know.
			c.reply = c.cancelledReply()
		}
		buf = c.cancelByRecord(buf)
	}
	return c.endMachine(how, buf)
}

// cancelByRecord cancels the call by its record, once, if its client has cancelled it.
func (c *Call) cancelByRecord(buf []Effect) []Effect {
	if c.cancellation != cancelledHere {
		return buf
	}
	c.cancellation = cancelledByRecord
	return append(buf, Effect{Kind: CancelByRecord})
}

// cancelOver handles a cancellation that arrives when the machine is over. A call that waits or has
// another owner is cancelled by its record.
func cancelOver(c *Call, _ Event, buf []Effect) []Effect {
	if c.how != HowParked && c.how != HowLost {
		return buf
	}
	c.noteCancelled()
	return c.cancelByRecord(buf)
}

// supersede gives up the call to another machine, which knows the record. A call without a record
// continues unless it is cancelled.
func supersede(c *Call, e Event, buf []Effect) []Effect {
	if e.Why == ByCancel {
		c.cancellation = cancelledByRecord
	}
	switch {
	case c.j.link != unlinked:
		return c.leave(HowLost, buf)
	case e.Why == ByCancel:
		return finishSilently(c, e, buf)
	}
	return buf
}

// endMachine ends the machine.
func (c *Call) endMachine(how How, buf []Effect) []Effect {
	c.state, c.how = Over, how
	c.j.window = nil // Keep has copied the entries.
	return append(reportDropped(c.j.drop(), Gone, buf), Effect{Kind: EndRun, How: how, Reply: c.reply})
}

func leaveGone(c *Call, _ Event, buf []Effect) []Effect {
	return c.leaveOrFail(HowGone, NoSession, buf)
}

func leaveClosed(c *Call, _ Event, buf []Effect) []Effect {
	return c.leaveOrFail(HowLost, Leaving, buf)
}

// leaveOrFail gives up a call with a record, and ends one without with a failure.
func (c *Call) leaveOrFail(how How, f Failure, buf []Effect) []Effect {
	if c.j.link == unlinked {
		return c.settle(c.failure(f, nil), buf)
	}
	return c.leave(how, buf)
}

func over(c *Call, _ Event, buf []Effect) []Effect { return c.endMachine(HowEnded, buf) }

// restore restores the record, because the store may have lost acknowledged writes.
func restore(c *Call, _ Event, buf []Effect) []Effect {
	if c.j.link == unlinked {
		return buf
	}
	c.j.stale = true
	c.j.doubted = c.j.doubted || c.j.link == sending || c.j.unanswered
	return c.j.flush(buf)
}

func wroteEntries(c *Call, _ Event, buf []Effect) []Effect {
	c.j.stored()
	return c.j.flush(buf)
}

// failedEntries handles the fault of a step that is not the last.
func failedEntries(c *Call, e Event, buf []Effect) []Effect {
	switch e.Fault {
	case Fenced:
		if c.round.Cancelled { // The store may have lost the cancellation with which this replica claimed the call.
			c.noteCancelled()
		}
		return c.leave(HowLost, buf)
	case Gone:
		return c.leave(HowGone, buf)
	case TooLarge, NoRoom, IDTaken:
		what := c.j.refused()
		buf = reportDropped(len(what.Entries), e.Fault, buf)
		switch {
		case what.Next == medium.NextSame || c.j.step != nil: // A later step has the same content.
		case len(what.Entries) > 0:
			what.Entries = nil
			c.j.step = what
		case e.Fault == NoRoom: // The store refused the content of the step itself.
			return c.finishBefore(c.failure(Full, e.Err), buf)
		default:
			return c.finishBefore(c.failure(Oversized, nil), buf)
		}
		return c.j.flush(buf)
	}
	return c.j.failed(e.Fault, buf)
}

func writeOnTimer(c *Call, e Event, buf []Effect) []Effect {
	switch {
	case e.Timer == TimerRetry && c.j.link == retrying:
		c.j.link = idle
		return c.j.flush(buf)
	case e.Timer == TimerGiveUp:
		return c.leave(HowLost, buf)
	}
	return buf
}

func markOnPause(c *Call, e Event, buf []Effect) []Effect {
	switch {
	case e.Timer != TimerPause:
		return writeOnTimer(c, e, buf)
	case c.j.link == unlinked && c.awaitsBegin():
		c.overdue = true
		return buf
	case c.j.link == unlinked:
		c.state = Direct
		return c.run(buf)
	}
	return c.mark(buf)
}

// overWhenDone ends the run once its last step was acknowledged, unless the store may have lost it
// again.
func overWhenDone(c *Call, _ Event, buf []Effect) []Effect {
	switch c.j.stored() {
	case medium.NextWaiting:
		c.how = HowParked
	case medium.NextDone:
		c.how = HowEnded
	}
	if c.how == 0 || c.j.stale {
		return c.j.flush(buf)
	}
	return c.endRun(buf)
}

// endRun ends the run after its last step.
func (c *Call) endRun(buf []Effect) []Effect {
	buf = append(buf, Effect{Kind: Keep, Record: c.j.rec, Entries: c.j.window})
	if c.how == HowParked {
		buf = c.cancelByRecord(buf)
	}
	return c.endMachine(c.how, buf)
}

// failedEnd handles the fault of the last step, or of a step before it.
func failedEnd(c *Call, e Event, buf []Effect) []Effect {
	if e.Fault < TooLarge || c.j.step != nil {
		return failedEntries(c, e, buf)
	}
	if e.Fault == NoRoom && c.j.doubted && c.j.sent.Next == medium.NextDone {
		// A client that may have the response gets no other: it is restored as if the store had acknowledged and lost it.
		c.how, c.j.pause = HowEnded, 0
		c.j.apply()
		return c.j.restore(buf)
	}
	what := c.j.refused()
	if before := len(what.Entries) - endEntries(what); before > 0 {
		// The entries before the end may be the cause.
		what.Entries = what.Entries[before:]
		c.j.step = what
		return c.j.flush(reportDropped(before, e.Fault, buf))
	}
	switch {
	case c.reply.Failure != 0: // It fits any limit.
		return c.leave(HowLost, buf)
	case e.Fault == IDTaken && c.draws < maxDraws:
		c.draws++
		return append(buf, Effect{Kind: Draw, Reply: c.reply})
	case e.Fault == IDTaken:
		return c.fail(NoIDs, nil, buf)
	case e.Fault == NoRoom:
		return c.fail(Full, e.Err, buf)
	case what.Next == medium.NextWaiting:
		return c.fail(OversizedAsk, nil, buf)
	}
	return c.fail(Oversized, nil, buf)
}

// endEntries returns the number of entries that belong to the last step itself.
func endEntries(w *medium.Write) int {
	if n := len(w.Entries); n > 0 && w.Entries[n-1].Kind == state.EntryResponse {
		return 1
	}
	return len(w.Asks)
}

// park asks again with new ids.
func park(c *Call, e Event, buf []Effect) []Effect {
	if c.reply.Kind != Asks {
		return buf
	}
	c.reply = e.Reply
	return c.ask(buf)
}

// cancelFinishing withdraws questions that are not sent yet. Questions in flight are cancelled once
// they are stored.
func cancelFinishing(c *Call, _ Event, buf []Effect) []Effect {
	c.noteCancelled()
	if c.reply.Kind == Asks && c.j.step != nil {
		return c.end(c.cancelledReply(), buf)
	}
	return buf
}

// expireFinishing sets the timer after which a response is no longer offered to a store that does
// not accept it.
func expireFinishing(c *Call, _ Event, buf []Effect) []Effect {
	return append(buf, Effect{Kind: SetTimer, Timer: TimerGiveUp, After: giveUp})
}
