package call

import (
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// State is how far a call is, on the replica that runs it.
type State uint8

// The states of a call.
const (
	// New: nothing has happened.
	New State = iota
	// Direct: the backend runs. There is no record, and the exchange may still be answered with one body.
	Direct
	// Decided: the round is over. There is no record: the exchange decides what becomes of it.
	Decided
	// Running: the backend runs, under a lease.
	Running
	// Pausing: the backend was busy and is called again later.
	Pausing
	// Marking: the backend is to be called as soon as the record says so.
	Marking
	// Finishing: the round is over. Its last step is being written: the response, or the questions.
	Finishing
	// Over: nobody here runs the call.
	Over

	states
)

// maxDraws bounds how often the ids of one asking are drawn.
const maxDraws = 16

// Config is what a machine needs to know. It is shared and never changed.
type Config struct {
	// MaxAttempts is how many replicas may be lost, without having left, while they run a round: then it is poison.
	MaxAttempts int
	// Render makes the response of a failure, of which the store has said err where that is not nil. It is a pure function,
	// and takes no lock.
	Render func(c *medium.Record, f Failure, err error) []byte
	// Cancelled makes the response of a call that its client has cancelled; nil: it ends without one. It is a pure function.
	Cancelled func(c *medium.Record) []byte
	// Completed makes the notices of the open URL elicitations (Record.Open) that asks do not ask for again: they are over
	// when a call ends, or asks. It is a pure function; nil: there are none.
	Completed func(c *medium.Record, asks []state.Ask) []state.Entry
	// Claimed makes the entries that are written before a call that was claimed is run; nil: there are none. It is a pure function.
	Claimed func(c *medium.Record) []state.Entry
	// Brief makes of the record before a step, and the step with its entries, the summary of the log after it (medium.Write.Brief); nil: there are none. It
	// is a pure function.
	Brief func(c *medium.Record, w *medium.Write) []byte
	// Keep makes a response one that is kept in a log; nil: it is as it is.
	Keep func(response []byte) []byte
}

// Call is one call while a replica runs it: from its request, from the answer that completed its questions, or from
// a takeover, to its response or its next questions. It is not safe for concurrent use: its inbox gives it one
// event at a time.
type Call struct {
	o *Config
	// id is the record that it was made with.
	id    *medium.Record
	state State
	j     journal
	// round is the round to run: answers and state are those it begins with.
	round *medium.Record
	reply *Reply
	draws int
	// wanted: a record was asked for.
	wanted bool
	// cancelled: the client has cancelled; should the call then be another's, or wait, it is cancelled by its record.
	// cancelling: that was asked for, or is done by the machine that superseded this one.
	cancelled, cancelling bool
	// noted is the checkpoint of a round that runs without a record; nil: there is none.
	noted []byte
	// how is how the run ends: its last step was acknowledged, or the machine is over. 0: neither.
	how How
	// failed: the response is one of the edge's own, which fits anywhere.
	failed bool
	// told is the highest progress that was sent or is queued; suppressed holds back everything until that is exceeded, in
	// a round that is run again.
	told       float64
	hasTold    bool
	suppressed bool
}

// Silent is the end of a call whose client has cancelled it, without a response.
var Silent = &Reply{Kind: Final, Cancelled: true}

// silent is the end of a call that its client has cancelled.
func (c *Call) silent() *Reply {
	if c.o.Cancelled == nil {
		return Silent
	}
	return &Reply{Kind: Final, Response: c.o.Cancelled(c.Record()), Cancelled: true}
}

// State is where the machine is.
func (c *Call) State() State { return c.state }

// Record is what is known of the call: what was acknowledged last, or else the request.
func (c *Call) Record() *medium.Record {
	if c.j.link == unlinked {
		return c.round
	}
	return c.j.rec
}

// Waiting is how many events of the backend wait to be written.
func (c *Call) Waiting() int { return len(c.j.queue) }

// Held says whether this replica has the call's lease.
func (c *Call) Held() bool { return c.j.link != unlinked && c.state != Over }

// Step takes an event and appends what is to be done to buf, in order.
func (c *Call) Step(e Event, buf []Effect) []Effect {
	return transitions[c.state][e.Kind](c, e, buf)
}

type transition func(c *Call, e Event, buf []Effect) []Effect

// ignore is for events that come late, or say nothing new, in a state; never for those that cannot come in it.
func ignore(_ *Call, _ Event, buf []Effect) []Effect { return buf }

// never is for events that the driver does not send in a state. They change nothing.
func never(_ *Call, _ Event, buf []Effect) []Effect { return buf }

// transitions are all of them: a row for each state, a column for each event.
var transitions = [states][eventKinds]transition{
	New: {
		Started: start, Claimed: claimed, Emitted: never, Checkpointed: never, Returned: never, Begun: never, Kept: never, Refused: never,
		Stored: never, Failed: never, Drawn: never, Due: never,
		Cancelled: decideSilently, Expired: decideLate, Ended: decideGone, Closed: decideLeaving, Returning: ignore, Superseded: supersede,
	},
	Direct: {
		Started: never, Claimed: never, Emitted: gatherEntry, Checkpointed: noteCheckpoint, Returned: decide, Begun: attachRunning, Kept: never, Refused: unwant,
		Stored: never, Failed: never, Drawn: never, Due: wantOnFlush,
		Cancelled: decideSilently, Expired: decideLate, Ended: decideGone, Closed: decideLeaving, Returning: ignore, Superseded: supersede,
	},
	Decided: {
		Started: never, Claimed: never, Emitted: ignore, Checkpointed: ignore, Returned: ignore, Begun: attachFinishing, Kept: over, Refused: refuseAsks,
		Stored: never, Failed: never, Drawn: never, Due: ignore,
		Cancelled: withdrawSilently, Expired: withdrawLate, Ended: withdrawGone, Closed: withdrawLeaving, Returning: ignore, Superseded: supersedeDecided,
	},
	Running: {
		Started: never, Claimed: never, Emitted: writeEntry, Checkpointed: checkpoint, Returned: finish, Begun: never, Kept: never, Refused: ignore,
		Stored: wroteEntries, Failed: failedEntries, Drawn: never, Due: writeOnTimer,
		Cancelled: finishSilently, Expired: finishLate, Ended: leaveGone, Closed: leaveClosed, Returning: restore, Superseded: supersede,
	},
	Pausing: {
		Started: never, Claimed: never, Emitted: ignore, Checkpointed: ignore, Returned: ignore, Begun: attachPausing, Kept: never, Refused: ignore,
		Stored: wroteEntries, Failed: failedEntries, Drawn: never, Due: markOnPause,
		Cancelled: finishSilently, Expired: finishLate, Ended: leaveGone, Closed: leaveClosed, Returning: restore, Superseded: supersede,
	},
	Marking: {
		Started: never, Claimed: never, Emitted: ignore, Checkpointed: ignore, Returned: ignore, Begun: never, Kept: never, Refused: never,
		Stored: runWhenMarked, Failed: failedEntries, Drawn: never, Due: writeOnTimer,
		Cancelled: finishSilently, Expired: finishLate, Ended: leaveGone, Closed: leaveClosed, Returning: restore, Superseded: supersede,
	},
	Finishing: {
		Started: never, Claimed: never, Emitted: ignore, Checkpointed: ignore, Returned: ignore, Begun: never, Kept: never, Refused: never,
		Stored: overWhenDone, Failed: failedEnd, Drawn: park, Due: writeOnTimer,
		Cancelled: cancelFinishing, Expired: expireFinishing, Ended: leaveGone, Closed: leaveClosed, Returning: restore, Superseded: supersede,
	},
	Over: {
		Started: never, Claimed: never, Emitted: ignore, Checkpointed: ignore, Returned: ignore, Begun: ignore, Kept: ignore, Refused: ignore,
		Stored: ignore, Failed: ignore, Drawn: ignore, Due: ignore,
		Cancelled: cancelOver, Expired: ignore, Ended: ignore, Closed: ignore, Returning: ignore, Superseded: ignore,
	},
}

// ID is the call's, which never changes.
func (c *Call) ID() string { return c.id.ID }

// Names are those of the call's session and of the call, which never change.
func (c *Call) Names() (session, id string) { return c.id.Session, c.id.ID }

// Deadline is the call's, which never changes; zero: none.
func (c *Call) Deadline() time.Time { return c.id.Deadline }
