package state

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Phase is how far a call has come.
type Phase uint8

// The phases.
const (
	// PhaseReady: the backend was not called in this round: any tool may be run.
	PhaseReady Phase = iota + 1
	// PhaseDispatched: the backend was called; whether it acted is not known.
	PhaseDispatched
	// PhaseWaiting: the client was asked; nobody runs the call and no replica has to stay alive.
	PhaseWaiting
	// PhaseDone: the stream has the call's response.
	PhaseDone
)

// Call is the record of a request that outgrew its exchange: all that any replica needs to finish it.
type Call struct {
	// ID is the contract's call_id.
	ID string
	// RequestID is the client's JSON-RPC id, as JSON text.
	RequestID string
	Method    mcp.Method
	// Params of the request; owned.
	Params json.RawMessage
	// LogLevel in force when the call began.
	LogLevel mcp.LogLevel
	// Deadline ends the call's whole life, waiting included: from then on it is an orphan, and whoever
	// claims it finishes it. Zero: none.
	Deadline time.Time
	// Repeatable: it may be run again after PhaseDispatched was lost. The medium only keeps it: a claimer that
	// finds a dispatched call which is not repeatable, or has too many Lapses, finishes it with an unknown outcome.
	Repeatable bool
	// Round and Attempt of the run in progress, or of the next.
	Round, Attempt int
	// Lapses are the runs of this round whose replica was lost without a word: it did not leave (see Which.Lapsed).
	Lapses int
	// Trace is the span the call began with, as a W3C traceparent; empty: none. The medium only keeps it.
	Trace string
	// Began is when the request was received; zero: not known.
	Began time.Time
}

// Lease is the right of one replica to write about one call.
type Lease struct {
	Session, Stream, Call string
	// Epoch is FirstEpoch, and that of NextEpoch with every change of owner.
	Epoch uint64
}

// Write is one numbered write under a lease. N starts at 1 with the lease and rises by one with every
// write, whatever its kind. A write whose N was applied already under this epoch returns nil and does
// nothing, even if the call is done or parked by then, so a write that timed out may be sent again. An
// N that skips means that the medium lost writes: ErrRollback, and nothing is written; Claim at the lease's
// epoch gives a new lease to go on with, and begins an epoch of the log. So does an Epoch ahead of the
// call's: the medium lost the claim.
type Write struct {
	Lease
	N uint64
	// Dispatched records that the backend is being called from now on.
	Dispatched bool
}

// Ask is one request to the client, pending until answered.
type Ask struct {
	// ID is the JSON-RPC id of the request: the text of a random integer below 2^31, or as releases before had
	// it, a random string without quotes.
	ID string
	// Key and Method of the backend's request.
	Key    string
	Method mcp.Method
	// ElicitationID of a URL elicitation; empty otherwise.
	ElicitationID string
	// Message is the whole JSON-RPC request as it goes on the stream.
	Message []byte
	// Asked is when; zero: not known.
	Asked time.Time
}

// Answer is the client's answer to an Ask: a result, or the error object it sent.
type Answer struct {
	Result, Error json.RawMessage
	// Token makes giving it idempotent (see Calls.Answer): random, chosen once for all repetitions. A
	// Claim's answers have none.
	Token string
}

// Answered is an Ask with its answer.
type Answered struct {
	Ask
	Answer
}

// Claim is a call that now belongs to whoever asked for it, with all that the next run needs.
type Claim struct {
	Lease Lease
	Call  Call
	// Session as it is now.
	Session *Session
	// Phase in which the call was found.
	Phase Phase
	// Answers to the last asking, complete after Calls.Answer; in the order of the asks.
	Answers []Answered
	// State is the backend's, from the last asking.
	State []byte
	// Progress is the highest value on the stream; HasProgress is false when there is none.
	Progress    float64
	HasProgress bool
	// OpenElicitations are the ids of URL elicitations, by key, whose completion was not told yet:
	// those of the last asking, without those an entry Completes. Owned by the receiver.
	OpenElicitations map[string]string
}

// AnswerOutcome says what an answer did.
type AnswerOutcome uint8

// The outcomes.
const (
	// AnswerUnknown: nobody asked this, or not any more; it is ignored and counted.
	AnswerUnknown AnswerOutcome = iota
	// AnswerDuplicate: it was answered before, and the call has not asked again or ended since; the
	// first answer stands.
	AnswerDuplicate
	// AnswerTaken: kept; others are still missing.
	AnswerTaken
	// AnswerCompleted: kept, and it was the last one missing: the call was claimed.
	AnswerCompleted
)

// Which names a call to claim: by its id at a known epoch (a takeover), or by the client's request id
// at any epoch (a cancellation).
type Which struct {
	Session string
	// Call and Epoch, or RequestID.
	Call      string
	Epoch     uint64
	RequestID string
	// Lapsed: the owner's heartbeat lapsed though it had not left, so the call may be what ends whoever runs it.
	// Orphans sets it; the claim of a dispatched call counts it.
	Lapsed bool
	// Token makes claiming idempotent (see Calls.Claim): random, chosen once for all repetitions.
	Token string
}

// Calls keeps the calls that run or wait. Each method is one atomic step. Safe for concurrent use.
type Calls interface {
	// Begin records calls that outgrew their exchange, opens one log for them all, and gives their
	// leases, in order, at FirstEpoch, phase dispatched. They are indexed before they exist, so that no
	// orphan is missed. The same Begin by the same replica, before the first write, is a repetition and
	// gives the same leases. ErrNotFound when the session is gone, ErrLimit for a stream too many,
	// ErrExists when the stream or a call is somebody else's.
	Begin(ctx context.Context, session, stream string, calls []Call) ([]Lease, error)
	// Conclude records a call that has ended already, with its whole stream: what Begin and Finish together
	// would leave, in one step and with no lease. The call's id cannot be claimed. The same Conclude again is a
	// repetition. ErrNotFound when the session is gone, ErrExists when the stream is there, ErrTooLarge.
	Conclude(ctx context.Context, session, stream string, call Call, response []byte, before ...Entry) error
	// Park ends a round that needs the client: the asks' messages go to the log, the pending set is
	// replaced, the state kept, the phase becomes waiting and the lease ends, all in one step. With no
	// asks there is nothing to wait for: the state is kept, the next round is ready (round + 1, attempt
	// 1, no answers) and the lease goes on. ErrExists when an ask's id is that of another ask, of these or pending
	// in the session, and ErrLimit when state and messages find no room in it: nothing was written and the write's
	// N is still free.
	Park(ctx context.Context, w Write, asks []Ask, state []byte) error
	// Answer records the answer to a pending ask of the session, once. The one that completes the set
	// claims the call, as Claim does: the next epoch, phase ready, round + 1, attempt 1. The Claim is nil otherwise. The
	// error is ErrNotFound when the session is gone, and ErrLimit when the answer finds no room in it: then
	// the ask is still pending.
	//
	// After an error it is not known whether the answer was taken. Given again by the same replica with
	// the same Token, it has the outcome that it had, and the same Claim as long as nothing was written
	// under that and nobody else claimed the call: then it is a duplicate.
	Answer(ctx context.Context, session, ask string, a Answer) (AnswerOutcome, *Claim, error)
	// Claim takes a call from its owner, whether or not that one lives, by compare-and-set of the
	// epoch: the next one begins. The phase stays, and after a takeover of a dispatched call its attempt is one
	// higher. An epoch ahead of the call's is that of a lease whose claim the medium lost: it is taken for
	// the call's, and the phase is dispatched. A waiting call can be claimed by its request id, or past its
	// deadline; it is not asked about any more: its claimer finishes it. The log begins an epoch. ErrFenced
	// when somebody else was first, when the call is done, or when it has come to wait; ErrNotFound.
	//
	// Repeated by the same replica with the same Token, it gives the same Claim as long as nothing was
	// written under it. Whoever claims a call writes soon: a claim that nothing follows for
	// Limits.ClaimLife is an orphan.
	Claim(ctx context.Context, w Which) (*Claim, error)
	// Finish appends entries as Append does, and the response behind them, and marks the call done; the last
	// call of a stream ends it. A nil response (the client cancelled) ends the call without that event.
	// ErrFenced, ErrNotFound, ErrTooLarge.
	Finish(ctx context.Context, w Write, response []byte, before ...Entry) error
}
