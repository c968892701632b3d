package call

import (
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// EventKind is the kind of an event of a call.
type EventKind uint8

// The events of a call.
const (
	// Started: the call arrived in an exchange.
	Started EventKind = iota
	// Claimed: this replica owns the call for reason Why; Record is its record.
	Claimed
	// Emitted: the backend sent Entry.
	Emitted
	// Checkpointed: the backend permits another run of the round from State.
	Checkpointed
	// Returned: the backend returned Reply.
	Returned
	// Begun: the exchange has become a stream; Record is the call's record.
	Begun
	// Kept: the exchange has kept the reply.
	Kept
	// Refused: the exchange cannot become a stream, because of Fault.
	Refused
	// Stored: the store acknowledged the step or the Restore that was in flight.
	Stored
	// Failed: the store did not acknowledge the step or the Restore, because of Fault.
	Failed
	// Drawn: Reply has new ids for the questions that failed with IDTaken.
	Drawn
	// Due: timer Timer has fired.
	Due
	// Cancelled: the client has cancelled the request.
	Cancelled
	// Expired: the lifetime of the call has passed.
	Expired
	// Ended: the session has ended.
	Ended
	// Closed: this replica is shutting down.
	Closed
	// Returning: the store was away and may have lost acknowledged writes.
	Returning
	// Superseded: another machine of this replica has claimed the call, for reason Why.
	Superseded

	eventKinds
)

// Event is one event. Only the members that its kind names are set. The values that it points to
// must not change any more.
type Event struct {
	Kind  EventKind
	Timer Timer
	Fault Fault
	// Why is set in Claimed and Superseded. Late, in Claimed, is true if the lifetime of the call
	// has passed.
	Why    Why
	Late   bool
	Entry  *state.Entry
	State  []byte
	Reply  *Reply
	Record *medium.Record
	// Err is the store's error, in Refused and Failed.
	Err error
}

// Why is the reason for which a machine continues a record.
type Why uint8

// The reasons.
const (
	// ByRequest: its request began it with a record that was ready to be run.
	ByRequest Why = iota + 1
	// ByAnswer: its last open question was answered.
	ByAnswer
	// ByLoss: its owner was lost, or its lifetime has passed.
	ByLoss
	// ByCancel: the client cancelled it while it waited or ran on another replica.
	ByCancel
)

// ReplyKind is the kind of a round's end.
type ReplyKind uint8

// The kinds of a reply.
const (
	// Final: with the call's response, or without one if no response is due.
	Final ReplyKind = iota + 1
	// Asks: with questions to the client.
	Asks
	// Busy: the backend asked to be called again after Pause.
	Busy
)

// Reply is the end of a round.
type Reply struct {
	Kind     ReplyKind
	Response []byte
	// Cancelled is true if the client cancelled the call.
	Cancelled bool
	// Failure is the failure that Response reports. Zero means that the response is the backend's.
	Failure Failure
	// Err is the store's error if Failure is Full. nil means unknown.
	Err   error
	Asks  []state.Ask
	State []byte
	Pause time.Duration
	// Resumable, in Asks and Busy, is true if the next round may be run again with State.
	Resumable bool
}

// Failure is a failure with which the edge itself responds.
type Failure uint8

// The failures.
const (
	// Late: the lifetime of the call has passed.
	Late Failure = iota + 1
	// NoSession: the session has ended.
	NoSession
	// Leaving: the replica is shutting down.
	Leaving
	// Oversized: the response is larger than a stream may keep.
	Oversized
	// OversizedAsk: the questions are larger than a stream may keep.
	OversizedAsk
	// Full: the session has no room.
	Full
	// NoIDs: no free ids were found for the questions.
	NoIDs
	// NoStore: the store is unavailable.
	NoStore
	// UnknownOutcome: the owner was lost while the backend was called, and the call must not run
	// again.
	UnknownOutcome
	// Poison: too many owners were lost while they ran the call.
	Poison
	// NoClient: the call asks its client, which has disconnected.
	NoClient
)

// EffectKind is the kind of an effect.
type EffectKind uint8

// The effects.
const (
	// Run calls the backend. Record has the round, its answers and its state.
	Run EffectKind = iota + 1
	// Stop cancels the call to the backend.
	Stop
	// Want asks the exchange for a record.
	Want
	// Decide passes Reply to the exchange, which answers with Begun, Kept or Refused.
	Decide
	// Commit sends Write to the store.
	Commit
	// Restore sends Record and Entries to the store.
	Restore
	// Draw draws new ids for the questions of Reply.
	Draw
	// SetTimer sets Timer to fire after After.
	SetTimer
	// Free frees the client's request id, before the response is sent.
	Free
	// Keep keeps Record and Entries for a bounded time, to restore them if the store loses writes.
	Keep
	// CancelByRecord cancels a call that was cancelled here by its record: the call waits, or
	// another replica owns it.
	CancelByRecord
	// Dropped reports that readers lose Count events of the backend. Fault is NoFault if the queue
	// was full, Gone if there was no stream, and otherwise the fault with which the store refused
	// them.
	Dropped
	// EndRun ends the run on this replica. How is the reason, and Reply the final reply.
	EndRun

	// The following are the effects of an exchange.

	// Begin begins the records of its calls.
	Begin
	// CleanUp begins the records again and ends them, because a failed Begin may have stored some.
	CleanUp
	// Open turns the exchange into a stream and follows its log.
	Open
	// Respond ends the exchange with the replies.
	Respond
	// Accept ends the exchange without a body.
	Accept
	// Forward passes Event to call Call.
	Forward
)

// How is the way in which a run ended on this replica.
type How uint8

// The ways.
const (
	// HowEnded: the call has its response.
	HowEnded How = iota + 1
	// HowParked: the call waits for its client.
	HowParked
	// HowLost: another replica owns the call or will take it over.
	HowLost
	// HowGone: the session has ended.
	HowGone
)

// Effect is one effect. Only the members that its kind names are set. The values that it points to
// never change, so effects can be carried out while the machine takes further events.
type Effect struct {
	Kind EffectKind
	// Timer is set in SetTimer, with After.
	Timer Timer
	How   How
	// Event is set in Forward, with Fault and Err. Fault is also set in Dropped.
	Event EventKind
	Fault Fault
	// Unnumbered sends Entries without ids.
	Unnumbered bool
	// Call is the number of the call in its exchange, in Forward and in every effect of a call
	// that Machines return.
	Call int32
	// Count is set in Dropped.
	Count   int32
	After   time.Duration
	Write   *medium.Write
	Record  *medium.Record
	Reply   *Reply
	Entries []medium.Entry
	Err     error
}
