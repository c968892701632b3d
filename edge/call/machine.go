package call

import (
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// State is the state of a call on the replica that runs it.
type State uint8

// The states of a call.
const (
	// New: no event has arrived.
	New State = iota
	// Direct: the backend runs. There is no record; the exchange may still be answered with one
	// body.
	Direct
	// Decided: the round is over. There is no record; the call waits for the exchange to keep its
	// reply or to begin a stream.
	Decided
	// Running: the backend runs under a lease.
	Running
	// Pausing: the backend was busy and is called again later.
	Pausing
	// Marking: the backend is called once the record says so.
	Marking
	// Finishing: the round is over. Its last step, the response or the questions, is being written.
	Finishing
	// Over: this machine no longer runs the call.
	Over

	states
)

// maxDraws bounds the number of times that new ids are drawn for a set of questions.
const maxDraws = 16

// Config configures machines. It is shared and never changes.
type Config struct {
	// MaxAttempts bounds the replicas that are lost, without a drain, while they run a round. After
	// that the call is poison.
	MaxAttempts int
	// Render makes the response for a failure. err is the store's error; it may be nil. Render is
	// pure and takes no lock.
	Render func(c *medium.Record, f Failure, err error) []byte
	// Cancelled makes the response of a call that its client cancelled. It is pure. nil ends such a
	// call without a response.
	Cancelled func(c *medium.Record) []byte
	// Completed makes the notices for open URL elicitations (Record.Open) that asks does not
	// repeat: a call completes them when it ends or asks. It is pure. nil makes none.
	Completed func(c *medium.Record, asks []state.Ask) []state.Entry
	// Claimed makes the entries that are written before a claimed call runs. It is pure. nil makes
	// none.
	Claimed func(c *medium.Record) []state.Entry
	// Brief makes the summary of the log after a step (medium.Write.Brief) from the record before
	// the step and the step with its entries. It is pure. nil makes no summary.
	Brief func(c *medium.Record, w *medium.Write) []byte
	// Keep converts a response to its form in a log. nil keeps it unchanged.
	Keep func(response []byte) []byte
}

// Call is one call while a replica runs it: from its request, the answer that completed its
// questions, or a takeover, to its response or its next questions. It is not safe for concurrent
// use; its inbox passes it one event at a time.
type Call struct {
	o     *Config
	state State
	j     journal
	// round is the round to run, with its answers and its initial state.
	round        *medium.Record
	reply        *Reply
	draws        int
	cancellation cancellation
	// checkpoint is the checkpoint of a round that runs without a record. nil means that there is
	// none.
	checkpoint []byte
	// offered is the round that may run again from the record with which the call begins, as soon as
	// that was sent. 0 means none. overdue is true if the next round waits: see awaitsBegin.
	offered int
	overdue bool
	// how is the way in which the run ends, once its last step was acknowledged or the machine is
	// over. 0 means neither.
	how How
	// progress is the highest progress that was sent or queued. suppressed drops all events of a
	// repeated round until it exceeds progress.
	progress    float64
	hasProgress bool
	suppressed  bool
}

// cancellation is the progress of the client's cancellation of a call. It only advances. The zero
// value means that the client has not cancelled the call.
type cancellation uint8

const (
	// cancelledHere: this machine ends the call. If another replica owns the call, or it waits, it
	// is cancelled by its record.
	cancelledHere cancellation = iota + 1
	// cancelledByRecord: the cancellation by the record was requested, or is left to the machine
	// that superseded this one.
	cancelledByRecord
)

// noteCancelled records that the client has cancelled the call.
func (c *Call) noteCancelled() { c.cancellation = max(c.cancellation, cancelledHere) }

// cancelledReply returns the reply of a call that its client cancelled.
func (c *Call) cancelledReply() *Reply {
	r := &Reply{Kind: Final, Cancelled: true}
	if c.o.Cancelled != nil {
		r.Response = c.o.Cancelled(c.Record())
	}
	return r
}

// Record returns the last acknowledged record, or the request if there is no record.
func (c *Call) Record() *medium.Record {
	if c.j.link == unlinked {
		return c.round
	}
	return c.j.rec
}

// Waiting returns the number of backend events that wait to be written.
func (c *Call) Waiting() int { return len(c.j.queue) }

// Held reports whether this replica holds the call's lease.
func (c *Call) Held() bool { return c.j.link != unlinked && c.state != Over }

// Unsettled reports whether this replica must not leave the call yet. The store has not acknowledged a
// step, or may have lost some, so that another replica would take the round for one whose outcome is
// unknown; or the round runs and must not be run again. A running round that may be run again has no
// such step: the next replica repeats it.
func (c *Call) Unsettled() bool {
	switch {
	case !c.Held():
		return false
	case c.state == Running && (c.round.Resumable || c.j.rec.Repeatable):
		return c.j.stale || c.j.link == restoring
	}
	return c.state == Running || c.j.link != idle
}

// Step takes an event and appends its effects to buf, in order. An event without a transition is late
// or has no effect in the call's state.
func (c *Call) Step(e Event, buf []Effect) []Effect {
	t := transitions[c.state][e.Kind]
	if t == nil && c.state != Over {
		t = common[e.Kind]
	}
	if t == nil {
		return buf
	}
	return t(c, e, buf)
}

type transition func(c *Call, e Event, buf []Effect) []Effect

// transitions is the transition table: a row for each state, with the transitions of its own.
var transitions = [states][eventKinds]transition{
	New:       {Started: start, Claimed: claimed},
	Direct:    {Emitted: gatherEntry, Checkpointed: keepCheckpoint, Returned: decide, Begun: attachRunning, Refused: dropQueue, Due: wantOnFlush},
	Decided:   {Begun: attachFinishing, Kept: over, Refused: refuseAsks},
	Running:   {Emitted: writeEntry, Checkpointed: checkpoint, Returned: finish, Stored: wroteEntries, Failed: failedEntries, Due: writeOnTimer},
	Pausing:   {Begun: attachPausing, Refused: refusePause, Stored: wroteEntries, Failed: failedEntries, Due: markOnPause},
	Marking:   {Stored: runWhenMarked, Failed: failedEntries, Due: writeOnTimer},
	Finishing: {Stored: overWhenDone, Failed: failedEnd, Drawn: park, Due: writeOnTimer, Cancelled: cancelFinishing, Expired: expireFinishing},
	Over:      {Cancelled: cancelOver},
}

// common are the transitions of the states but Over that have none of their own for an event.
var common = [eventKinds]transition{
	Cancelled: finishSilently, Expired: finishLate, Ended: leaveGone, Closed: leaveClosed, Returning: restore, Superseded: supersede,
}
