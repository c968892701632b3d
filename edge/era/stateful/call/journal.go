package call

import (
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// Timer names the timers of a machine; each has at most one of them at a time.
type Timer uint8

// The timers.
const (
	// TimerFlush: the first events of a call wait for those that follow.
	TimerFlush Timer = iota + 1
	// TimerRetry: a step is sent again.
	TimerRetry
	// TimerPause: the backend that was busy is called again.
	TimerPause
	// TimerGiveUp: a step that nobody acknowledged is given up.
	TimerGiveUp
	// TimerOpen: the exchange becomes a stream.
	TimerOpen
	// TimerRead: the log is read again.
	TimerRead
)

const (
	// queueEntries and queueBytes bound what waits to be written to one log.
	queueEntries, queueBytes = 256, 1 << 20
	// windowBytes bounds the acknowledged entries that are kept to be sent again.
	windowBytes = 256 << 10
	// gather is how long first events wait; firstRetry and lastRetry how long a step does that is sent again.
	gather                = time.Millisecond
	firstRetry, lastRetry = 20 * time.Millisecond, time.Second
	// giveUp is how long a response is offered to the store after the call's lifetime has passed.
	giveUp = 2 * time.Second
)

// link is how the journal stands with the store.
type link uint8

const (
	// unlinked: there is no record.
	unlinked link = iota
	// idle: every step was acknowledged.
	idle
	// sending: a step is on its way.
	sending
	// restoring: the store has lost steps, and is told what was acknowledged.
	restoring
	// retrying: a step or a Restore is sent again when the timer is due.
	retrying
)

// journal writes the steps of one call, one at a time. It knows the record as the store acknowledged it last: when
// the store has lost writes, that is given back to it as a whole, with the entries of the lease that were
// acknowledged lately.
type journal struct {
	link link
	// rec is what was acknowledged; place and number are the last place and number of a step that were given out.
	rec           *medium.Record
	place, number uint64
	// window are acknowledged entries of the lease, the newest.
	window []medium.Entry
	bytes  int
	// brief is Config.Brief.
	brief func(*medium.Record, *medium.Write) []byte
	// queue waits to be sent.
	queue  []state.Entry
	queued int
	// sent is on its way, or to be sent again; nil: there is none.
	sent *medium.Write
	// step is the step to take when the queue is sent; nil: there is none.
	step *medium.Write
	// stale: the store was away; what was acknowledged may be lost.
	stale bool
	// restored: since a step was acknowledged last, the store was told what it had lost.
	restored bool
	pause    time.Duration
}

// attach gives the journal its record.
func (j *journal) attach(r *medium.Record, brief func(*medium.Record, *medium.Write) []byte) {
	j.rec, j.place, j.number, j.link, j.brief = r, r.Last, r.N, idle, brief
}

// push queues an entry. When too much waits, the oldest entry that may be lost is dropped; it returns how many.
func (j *journal) push(e *state.Entry) (dropped int) {
	j.queue = append(j.queue, *e)
	j.queued += len(e.Data)
	for len(j.queue) > queueEntries || j.queued > queueBytes {
		if !j.shed() {
			break
		}
		dropped++
	}
	return dropped
}

// precede puts entries before what is queued.
func (j *journal) precede(entries []state.Entry) {
	if len(entries) == 0 {
		return
	}
	j.queue = append(entries[:len(entries):len(entries)], j.queue...)
	for i := range entries {
		j.queued += len(entries[i].Data)
	}
}

// drop empties the queue; it returns how many events waited.
func (j *journal) drop() (n int) {
	n = len(j.queue)
	j.queue, j.queued = nil, 0
	return n
}

func (j *journal) shed() bool {
	for i := range j.queue {
		if k := j.queue[i].Kind; k == state.EntryProgress || k == state.EntryLog {
			j.queued -= len(j.queue[i].Data)
			j.queue = append(j.queue[:i:i], j.queue[i+1:]...)
			return true
		}
	}
	return false
}

// take sets the step to take behind what is queued, in the place of one that was not sent yet.
func (j *journal) take(w *medium.Write) { j.step = w }

// checkpoint has the next step begin the round anew from a state.
func (j *journal) checkpoint(round int, state []byte) {
	if j.step == nil {
		j.step = &medium.Write{}
	}
	j.step.Round, j.step.State, j.step.Resumable = round, state, true
}

// untaken says whether the last step is still to be sent.
func (j *journal) untaken() bool { return j.step != nil }

// flush sends what waits, if nothing is on its way.
func (j *journal) flush(buf []Effect) []Effect {
	if j.link != idle {
		return buf
	}
	if j.stale {
		return j.restore(buf)
	}
	if len(j.queue) == 0 && j.step == nil {
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
	j.step, j.sent = nil, w
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

// again sends what was not acknowledged.
func (j *journal) again(buf []Effect) []Effect {
	switch {
	case j.stale:
		return j.restore(buf)
	case j.sent != nil:
		return j.send(buf)
	}
	j.link = idle
	return j.flush(buf)
}

// rewound notes that the store may have lost what it acknowledged.
func (j *journal) rewound(buf []Effect) []Effect {
	if j.link == unlinked {
		return buf
	}
	j.stale = true
	return j.flush(buf)
}

// stored takes an acknowledgement. done is the step that it was about; medium.NextSame for a Restore.
func (j *journal) stored(buf []Effect) (done medium.Next, _ []Effect) {
	j.pause = 0
	was := j.link
	j.link = idle
	if was == sending {
		done = j.sent.Next
		rec := *j.rec
		rec.Apply(j.sent)
		j.rec = &rec
		j.remember()
		j.sent, j.restored = nil, false
	}
	if was == restoring && j.sent != nil && !j.stale {
		return medium.NextSame, j.send(buf)
	}
	return done, buf
}

// remember keeps the entries of the acknowledged step in the window.
func (j *journal) remember() {
	for _, e := range j.sent.Placed() {
		j.window = append(j.window, e) // Effects have a shorter one, which this leaves as it is.
		j.bytes += len(e.Data)
	}
	drop := 0
	for j.bytes > windowBytes && drop < len(j.window) {
		j.bytes -= len(j.window[drop].Data)
		drop++
	}
	j.window = j.window[drop:]
}

// failed takes a fault that is not final: the step is sent again later, or the store is told what it has lost.
func (j *journal) failed(f Fault, buf []Effect) []Effect {
	if f == Rewound {
		// Not without a pause when it is said of a Restore, or again of the same step: the store is going back again and
		// again.
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

// refused forgets a step whose content was refused, and gives a copy of it. Its places are not given out again: a history of the store may
// have had them.
func (j *journal) refused() (what *medium.Write) {
	again := *j.sent
	j.sent, j.link, j.pause = nil, idle, 0
	return &again
}
