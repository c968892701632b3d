package state

import (
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
	// Principal is who made the request, with the rights of its credentials then.
	Principal mcp.Principal
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
	// Backend is the configured name of the backend that the call belongs to, with its state, questions and answers; empty: that
	// was not known when the record began. The medium only keeps it.
	Backend string
	// Round and Attempt of the run in progress, or of the next.
	Round, Attempt int
	// Lapses are the runs of this round whose replica was lost without a word: it did not leave (see medium.Which).
	Lapses int
	// Trace is the span the call began with, as a W3C traceparent; empty: none. The medium only keeps it.
	Trace string
	// Began is when the request was received; zero: not known.
	Began time.Time
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

// Answer is the client's answer to an Ask: a result, or the error object it sent. Withdrawn, it has neither.
type Answer struct {
	Result, Error json.RawMessage
	// Withdrawn: the edge withdrew the question, which needs no answer any more. The call goes on without one.
	Withdrawn bool
	// By is who gave it, as Call.Principal.
	By mcp.Principal
	// Token makes giving it idempotent (see medium.Calls): random, chosen once for all repetitions.
	Token string
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
