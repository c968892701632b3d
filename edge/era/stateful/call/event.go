package call

import (
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// EventKind is what happened to a call.
type EventKind uint8

// The events of a call.
const (
	// Started: the call came in an exchange.
	Started EventKind = iota
	// Claimed: the call was claimed; Record is what is known of it.
	Claimed
	// Emitted: the backend sent Entry.
	Emitted
	// Checkpointed: the backend says that the round may be run again from State.
	Checkpointed
	// Returned: the backend has returned Reply.
	Returned
	// Begun: the exchange has become a stream; Record is the call's.
	Begun
	// Kept: the exchange has taken the outcome.
	Kept
	// Refused: the exchange can become no stream, because of Fault.
	Refused
	// Stored: the store has acknowledged the step, or Restore, that was on its way.
	Stored
	// Failed: it has not, because of Fault.
	Failed
	// Drawn: Reply has new ids for the questions that were refused with IDTaken.
	Drawn
	// Due: the timer Timer is.
	Due
	// Cancelled: the client has cancelled the request.
	Cancelled
	// Expired: the lifetime of the call has passed.
	Expired
	// Ended: the session has.
	Ended
	// Closed: this replica is shutting down.
	Closed
	// Returning: the store was away, and may have lost what it acknowledged.
	Returning
	// Superseded: another machine of this replica has claimed the call, for the reason Why.
	Superseded

	eventKinds
)

// Event is one event; of its members those count that its kind names. What it points to is not changed any more.
type Event struct {
	Kind  EventKind
	Timer Timer
	Fault Fault
	// Why of Claimed and Superseded. Late, of Claimed: the lifetime of the call has passed.
	Why    Why
	Late   bool
	Entry  *state.Entry
	State  []byte
	Reply  *Reply
	Record *medium.Record
	// Err is what the store said: of Refused and Failed.
	Err error
}

// Why is why a call was claimed.
type Why uint8

// The reasons.
const (
	// ByAnswer: its last question was answered.
	ByAnswer Why = iota + 1
	// ByLoss: its owner was lost, or its lifetime has passed.
	ByLoss
	// ByCancel: the client cancelled it while it waited or ran elsewhere.
	ByCancel
)

// ReplyKind is how a round ended.
type ReplyKind uint8

// The kinds of replies.
const (
	// Final: with the call's response; without one when there is nobody to tell.
	Final ReplyKind = iota + 1
	// Asks: with questions to the client.
	Asks
	// Busy: the backend asked to be called again after Pause.
	Busy
)

// Reply is how a round ended.
type Reply struct {
	Kind     ReplyKind
	Response []byte
	// Cancelled: the client has cancelled the call.
	Cancelled bool
	// Failure that the Response tells of; zero: it is the backend's.
	Failure Failure
	// Err is what the store said of it, where Failure is Full; nil: not known.
	Err   error
	Asks  []state.Ask
	State []byte
	Pause time.Duration
	// Resumable of Asks and Busy: the next round may be run again with State.
	Resumable bool
}

// Failure is a response that the edge itself gives.
type Failure uint8

// The failures.
const (
	// Late: the lifetime of the call has passed.
	Late Failure = iota + 1
	// NoSession: the session has ended.
	NoSession
	// Leaving: the replica is shutting down.
	Leaving
	// Oversized: the response is larger than what a stream may keep.
	Oversized
	// OversizedAsk: the questions are.
	OversizedAsk
	// Full: the session has no room.
	Full
	// NoIDs: no ids were found for the questions.
	NoIDs
	// NoStore: the store cannot be reached.
	NoStore
	// UnknownOutcome: the owner was lost while the backend was called, and the call is not to be run again.
	UnknownOutcome
	// Poison: too many owners were lost while they ran it.
	Poison
	// Unheard: nobody can be asked, since the client has left.
	Unheard
)

// EffectKind is what a machine wants done.
type EffectKind uint8

// The effects.
const (
	// Run calls the backend: Record has the round, its answers and its state.
	Run EffectKind = iota + 1
	// Stop cancels the call of the backend.
	Stop
	// Want asks the exchange for a record.
	Want
	// Outcome gives the exchange Reply; it answers with Begun, Kept or Refused.
	Outcome
	// Commit sends Write to the store.
	Commit
	// Restore sends Record and Entries to the store.
	Restore
	// Draw draws new ids for the questions of Reply.
	Draw
	// SetTimer sets Timer to be due After.
	SetTimer
	// Free frees the client's request id: the response is about to be sent.
	Free
	// Keep has Record and Entries kept for a while, to be restored when the store has lost writes.
	Keep
	// CancelByRecord cancels the call by its record: it waits, or is another's, and was cancelled here.
	CancelByRecord
	// Dropped: events of the backend, Count of them, are lost to readers: with NoFault because too many waited, with Gone
	// for want of a stream, else because the store refused them with Fault.
	Dropped
	// OverHere: nobody here runs the call. How says why, Reply what it ended with.
	OverHere

	// Those of an exchange:

	// Begin begins records for its calls.
	Begin
	// Tidy begins them again and ends them: nobody follows what a Begin may have left.
	Tidy
	// Open makes it a stream and has its log followed.
	Open
	// Respond ends it with the outcomes.
	Respond
	// Accept ends it without a body.
	Accept
	// Tell gives the call number Call the event Event.
	Tell
)

// How is how a call came to be over here.
type How uint8

// The ways.
const (
	// HowEnded: it has its response.
	HowEnded How = iota + 1
	// HowParked: it waits for its client.
	HowParked
	// HowLost: another replica has it, or will.
	HowLost
	// HowGone: its session has ended.
	HowGone
)

// Effect is one effect; of its members those count that its kind names. What it points to is never changed again, so that
// effects can be carried out while the machine goes on.
type Effect struct {
	Kind EffectKind
	// Timer of SetTimer, with After.
	Timer Timer
	How   How
	// Event of Tell, with Fault and Err; Fault of Dropped.
	Event EventKind
	Fault Fault
	// Unnumbered: Entries are sent without ids.
	Unnumbered bool
	// Call is the number of the call in its exchange: of Tell, and of every effect of a call that a Unit gives out.
	Call int32
	// Count of Dropped.
	Count   int32
	After   time.Duration
	Write   *medium.Write
	Record  *medium.Record
	Reply   *Reply
	Entries []medium.Entry
	Err     error
}
