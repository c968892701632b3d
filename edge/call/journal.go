package call

import (
	"slices"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// Timer identifies a timer of a machine. A machine has at most one of each.
type Timer uint8

// The timers.
const (
	// TimerFlush: send the first events of a call, which waited for further ones.
	TimerFlush Timer = iota + 1
	// TimerRetry: send a step again.
	TimerRetry
	// TimerPause: call the busy backend again.
	TimerPause
	// TimerGiveUp: give up a step that was not acknowledged.
	TimerGiveUp
	// TimerOpen: turn the exchange into a stream.
	TimerOpen

	// Timers bounds the timers.
	Timers
)

const (
	// queueEntries and queueBytes bound the entries that wait to be written to one log.
	queueEntries, queueBytes = 256, 1 << 20
	// windowBytes bounds the acknowledged entries that are kept for a Restore, except for those of
	// the last step.
	windowBytes = 256 << 10
	// gather is the time for which the first events wait for others. firstRetry and lastRetry bound
	// the pause before a step is sent again.
	gather                = time.Millisecond
	firstRetry, lastRetry = 20 * time.Millisecond, time.Second
	// giveUp is the time after the call's lifetime for which the store is retried with a response.
	giveUp = 2 * time.Second
)

// link is the state of the journal towards the store.
type link uint8

const (
	// unlinked: there is no record.
	unlinked link = iota
	// idle: every step was acknowledged.
	idle
	// sending: a step is in flight.
	sending
	// restoring: the store has lost steps; a Restore is in flight.
	restoring
	// retrying: the timer will send a step or a Restore again.
	retrying
)

// journal writes the steps of one call, one at a time. It keeps the last acknowledged record, and
// recently acknowledged entries of the lease, to restore them if the store has lost writes.
type journal struct {
	link link
	// rec is the acknowledged record. place and number are the last place and number given to a
	// step.
	rec           *medium.Record
	place, number uint64
	// window has the newest acknowledged entries of the lease.
	window []medium.Entry
	bytes  int
	// brief is Config.Brief.
	brief func(*medium.Record, *medium.Write) []byte
	// queue has the entries that wait to be sent.
	queue  []state.Entry
	queued int
	// sent is the step that is in flight or must be sent again. nil means that there is none.
	sent *medium.Write
	// unanswered is true if a copy of sent was not answered, so that the store may have taken it.
	// doubted is true if the store may have taken and lost it: a client may have its entries.
	unanswered, doubted bool
	// step is the step that is sent next, after the queue. nil means that there is none.
	step *medium.Write
	// stale is true if the store was unavailable, so that acknowledged writes may be lost.
	stale bool
	// restored is true if a Restore was sent since the last acknowledged step.
	restored bool
	pause    time.Duration
}

// attach sets the journal's record.
func (j *journal) attach(r *medium.Record, brief func(*medium.Record, *medium.Write) []byte) {
	j.rec, j.place, j.number, j.link, j.brief = r, r.Last, r.N, idle, brief
}

// push queues an entry. Over the bounds it drops the oldest progress and log entries and returns
// their number.
func (j *journal) push(e *state.Entry) (dropped int) {
	j.queue = append(j.queue, *e)
	j.queued += len(e.Data)
	for len(j.queue) > queueEntries || j.queued > queueBytes {
		i := slices.IndexFunc(j.queue, func(e state.Entry) bool { return e.Kind == state.EntryProgress || e.Kind == state.EntryLog })
		if i < 0 {
			break
		}
		j.queued -= len(j.queue[i].Data)
		j.queue = slices.Concat(j.queue[:i], j.queue[i+1:])
		dropped++
	}
	return dropped
}

// prepend puts entries before the queue.
func (j *journal) prepend(entries []state.Entry) {
	j.queue = slices.Concat(entries, j.queue)
	for i := range entries {
		j.queued += len(entries[i].Data)
	}
}

// drop empties the queue and returns the number of its events.
func (j *journal) drop() (n int) {
	n = len(j.queue)
	j.queue, j.queued = nil, 0
	return n
}

// checkpoint makes the next step store a state from which the round begins again.
func (j *journal) checkpoint(round int, state []byte) {
	if j.step == nil {
		j.step = &medium.Write{}
	}
	j.step.Round, j.step.State, j.step.Resumable = round, state, true
}

// flush sends what is due, unless a step or a Restore is in flight: a Restore of lost writes, the step that must
// be sent again, or the queue with the next step.
func (j *journal) flush(buf []Effect) []Effect {
	switch {
	case j.link != idle:
		return buf
	case j.stale:
		return j.restore(buf)
	case j.sent != nil:
		return j.send(buf)
	case len(j.queue) == 0 && j.step == nil:
		return buf
	}
	w := j.step
	if w == nil {
		w = &medium.Write{}
	}
	w.Entries = append(j.queue[:len(j.queue):len(j.queue)], w.Entries...)
	w.Session, w.Stream, w.Call, w.Epoch = j.rec.Session, j.rec.Stream, j.rec.ID, j.rec.Epoch
	j.number++
	w.N, w.After, w.Seq = j.number, j.rec.N, j.place+1
	j.place += uint64(len(w.Entries))
	j.queue, j.queued = nil, 0
	if j.brief != nil && len(w.Entries) > 0 {
		w.Brief = j.brief(j.rec, w)
	}
	j.step, j.sent, j.unanswered, j.doubted = nil, w, false, false
	return j.send(buf)
}

func (j *journal) send(buf []Effect) []Effect {
	j.link = sending
	return append(buf, Effect{Kind: Commit, Write: j.sent})
}

func (j *journal) restore(buf []Effect) []Effect {
	j.link, j.stale = restoring, false
	return append(buf, Effect{Kind: Restore, Record: j.rec, Entries: j.window})
}

// stored handles an acknowledgement. done is the acknowledged step; medium.NextSame for a Restore. flush is
// called next, unless the run ends.
func (j *journal) stored() (done medium.Next) {
	if j.link == sending {
		done = j.sent.Next
		j.apply()
	}
	j.link, j.pause = idle, 0
	return done
}

// apply applies the sent step to the record and the window.
func (j *journal) apply() {
	rec := *j.rec
	rec.Apply(j.sent)
	j.rec = &rec
	j.remember()
	j.sent, j.restored, j.unanswered, j.doubted = nil, false, false, false
}

// remember adds the entries of the sent step to the window. Older ones are dropped over the bound;
// those of the step never are: a response or a question may exceed it.
func (j *journal) remember() {
	older := len(j.window)
	for _, e := range j.sent.Placed() {
		j.window = append(j.window, e) // Effects hold shorter slices of the window, which this does not change.
		j.bytes += len(e.Data)
	}
	drop := 0
	for j.bytes > windowBytes && drop < older {
		j.bytes -= len(j.window[drop].Data)
		drop++
	}
	j.window = j.window[drop:]
}

// failed handles a fault that is not final: it sends the step again later, or restores the lost
// writes.
func (j *journal) failed(f Fault, buf []Effect) []Effect {
	j.unanswered = j.unanswered || f == Unavailable && j.link == sending
	if f == Rewound {
		j.doubted = j.doubted || j.unanswered
		// A Restore, or the same step again, waits first, because the store loses writes
		// repeatedly.
		j.stale = true
		if j.link == sending && !j.restored {
			j.restored = true
			return j.restore(buf)
		}
	}
	if j.link == restoring {
		j.stale = true
	}
	j.link = retrying
	j.pause = min(max(2*j.pause, firstRetry), lastRetry)
	return append(buf, Effect{Kind: SetTimer, Timer: TimerRetry, After: j.pause})
}

// refused drops a step whose content was refused, and returns a copy. Its places are not used
// again, because some history of the store may contain them.
func (j *journal) refused() (what *medium.Write) {
	again := *j.sent
	j.sent, j.link, j.pause = nil, idle, 0
	return &again
}
