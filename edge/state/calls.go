package state

import (
	"encoding/json"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Phase is the phase of a call.
type Phase uint8

// The phases.
const (
	// PhaseReady: the backend was not called in this round, so any tool may be run. A call that was
	// cancelled while it waited is ready, and is only ended.
	PhaseReady Phase = iota + 1
	// PhaseDispatched: the backend was called; whether it acted is unknown.
	PhaseDispatched
	// PhaseWaiting: the client was asked. The call has no owner, and no replica has to stay alive
	// for it.
	PhaseWaiting
	// PhaseDone: the stream has the call's response.
	PhaseDone
)

// Request is a client's request in the record of its call (medium.Record). Together with the state
// of the rounds, it suffices for any replica to finish the call.
type Request struct {
	// ID is the contract's call_id.
	ID string
	// RequestID is the client's JSON-RPC id, as JSON text.
	RequestID string
	Method    mcp.Method
	// Via is the tool of the edge through which the client made the request. The response has the
	// form of that tool. Empty means that the client made the request directly. The medium only
	// stores it.
	Via string
	// Shown is the name that the client used for the target, if it differs from that in Params.
	// Added is an object with the members of the arguments that the edge added (mcp.Params). The
	// medium only stores them.
	Shown string
	Added json.RawMessage
	// Principal is the caller that made the request, with the rights of its credentials at that
	// time.
	Principal mcp.Principal
	// Params are the params of the request; owned.
	Params json.RawMessage
	// LogLevel is the level in force when the call began.
	LogLevel mcp.LogLevel
	// Deadline ends the call's whole life, waiting included. After it the call is an orphan, which
	// its claimer finishes. Zero means none.
	Deadline time.Time
	// Repeatable is true if the call may run again after it was lost in PhaseDispatched. The medium
	// only stores it. A claimer that finds a dispatched call which is neither Repeatable nor
	// Resumable, or has too many Lapses, finishes it with an unknown outcome.
	Repeatable bool
	// Backend is the configured name of the backend that the call is bound to, with its state,
	// questions and answers. Empty means that it was not known when the record began. The medium
	// only stores it.
	Backend string
	// Round and Attempt number the run in progress, or the next.
	Round, Attempt int
	// Lapses counts the runs of this round whose replica was lost without leaving (see
	// medium.ClaimTarget).
	Lapses int
	// Trace is the span that the call began with, as a W3C traceparent. Empty means none. The
	// medium only stores it.
	Trace string
	// Began is when the request was received. Zero means unknown.
	Began time.Time
}

// Ask is one request to the client, pending until answered.
type Ask struct {
	// ID is the JSON-RPC id of the request: the text of a random integer below 2^31, or, in earlier
	// releases, a random string without quotes.
	ID string
	// Key and Method are those of the backend's request.
	Key    string
	Method mcp.Method
	// ElicitationID is the id of a URL elicitation, otherwise empty.
	ElicitationID string
	// Message is the whole JSON-RPC request as it is sent on the stream.
	Message []byte
	// Asked is when it was asked. Zero means unknown.
	Asked time.Time
}

// Answer is the client's answer to an Ask: a result, or the error object that it sent. A withdrawn
// answer has neither.
type Answer struct {
	Result, Error json.RawMessage
	// Withdrawn means that the edge withdrew the question, which needs no answer any more. The call
	// continues without one.
	Withdrawn bool
	// By is the caller that answered, as in Request.Principal.
	By mcp.Principal
	// Token makes the answer idempotent (see medium.Calls): random, chosen once for all
	// repetitions.
	Token string
}

// AnswerStatus is the effect of an answer.
type AnswerStatus uint8

// The statuses.
const (
	// AnswerUnknown: no such question is open; the answer is ignored and counted.
	AnswerUnknown AnswerStatus = iota
	// AnswerDuplicate: the question was answered before, and the call has not asked again or ended
	// since. The first answer stands.
	AnswerDuplicate
	// AnswerTaken: the answer was kept; others are still missing.
	AnswerTaken
	// AnswerCompleted: the answer was kept and was the last one missing: the call was claimed.
	AnswerCompleted
)
