package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Kind says what went wrong, finer than JSON-RPC codes: the revision gives it a code, the transport a
// status, the gRPC table a status code.
type Kind uint8

// The catalogue of kinds.
const (
	// KindNone is no error.
	KindNone Kind = iota
	// KindParse: the body is not JSON.
	KindParse
	// KindInvalidRequest: JSON, but no JSON-RPC message that fits here.
	KindInvalidRequest
	// KindMethodNotFound: no such method, or its capability is not advertised.
	KindMethodNotFound
	// KindInvalidParams: params that do not fit the method.
	KindInvalidParams
	// KindUnknownTool and KindUnknownPrompt: no backend has it.
	KindUnknownTool
	KindUnknownPrompt
	// KindResourceNotFound: no backend has the resource.
	KindResourceNotFound
	// KindBadCursor: a cursor that was not given out here, or is too old.
	KindBadCursor
	// KindBadState: a requestState that was not sealed here, for this request, or has expired.
	KindBadState
	// KindHeaderMismatch: a header is missing, malformed, or differs from the body.
	KindHeaderMismatch
	// KindMissingCapability: the client lacks a capability that the call cannot do without.
	KindMissingCapability
	// KindUnsupportedVersion: a protocol version that is not served.
	KindUnsupportedVersion
	// KindSessionRequired: a legacy request without a session id.
	KindSessionRequired
	// KindSessionNotFound: the session ended, never was, or is somebody else's.
	KindSessionNotFound
	// KindBadEventID: a Last-Event-ID that names no event of the session.
	KindBadEventID
	// KindForbidden: the caller, or the origin of a browser, may not.
	KindForbidden
	// KindUnauthenticated: no valid token.
	KindUnauthenticated
	// KindTooLarge: a bound on bytes or counts was crossed.
	KindTooLarge
	// KindLimit: too many sessions, streams or calls at the edge; later it may work.
	KindLimit
	// KindQuota: the backend says that a quota is used up, or a call has had all its rounds.
	KindQuota
	// KindStateUnavailable: the durable state cannot be reached; nothing was begun.
	KindStateUnavailable
	// KindOverloaded: the edge has no memory for it now; nothing was begun, unless the message says so.
	KindOverloaded
	// KindUnavailable: the backend cannot be reached.
	KindUnavailable
	// KindTimeout: the backend did not answer in time.
	KindTimeout
	// KindCancelled: the call was cancelled.
	KindCancelled
	// KindUnknownOutcome: a replica, or the connection to the backend, was lost in mid-call; whether the call took effect is not known.
	KindUnknownOutcome
	// KindContract: the backend broke the contract.
	KindContract
	// KindNoStream: a reader without a session, which there is no stream for.
	KindNoStream
	// KindInternal: a fault of the edge or of the backend.
	KindInternal
)

// Fault says that the edge, its state or a backend is to blame, and not who called.
func (k Kind) Fault() bool {
	switch k {
	case KindStateUnavailable, KindUnavailable, KindTimeout, KindUnknownOutcome, KindContract, KindInternal:
		return true
	}
	return false
}

// Error is a failure on its way to the client. Message says what was wrong, with which value, and
// what to do; it is shown to clients.
type Error struct {
	Kind    Kind
	Message string
	// Data is the JSON-RPC error's data; nil: none.
	Data json.RawMessage
	// RetryAfter is how long it takes until the same request may be taken; 0: not known.
	RetryAfter time.Duration
	// Challenge says which credentials it takes; nil: others would not help, or it is not known.
	Challenge *Challenge
	// Err is the cause, for logs only; may be nil.
	Err error
}

// Challenge is what credentials lack. A transport with statuses tells it with 401 or 403.
type Challenge struct {
	// Scopes that an access token is to be asked for with, all of them.
	Scopes []string
	// Anonymous: there are no credentials.
	Anonymous bool
	// Invalid: the access token is not good any more, as its issuer said after the request was let in. Another one is to be
	// asked for.
	Invalid bool
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Cause is what operators should know of a fault beyond its message, which is all that clients are told;
// nil: nothing. What is a caller's mistake has none: the cause may repeat what the caller sent.
func (e *Error) Cause() error {
	if !e.Kind.Fault() {
		return nil
	}
	return e.Err
}

// Errorf makes an Error of a kind. With %w the cause is kept.
func Errorf(kind Kind, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: kind, Message: err.Error(), Err: errors.Unwrap(err)}
}

// Overloaded is an error about memory that was not to be had, such as a *budget.Full.
func Overloaded(err error) *Error {
	return &Error{Kind: KindOverloaded, Message: err.Error(), Err: err}
}

// AsError gives any error a kind: an Error stays what it is, everything else is internal and its text
// is kept from clients.
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Kind: KindInternal, Message: "internal error", Err: err}
}
