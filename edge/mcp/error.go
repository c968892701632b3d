package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Kind classifies errors, more finely than JSON-RPC codes: the revision maps it to a code, the
// transport to an HTTP status, the gRPC table to a gRPC status.
type Kind uint8

// The error kinds.
const (
	// KindNone means that there is no error.
	KindNone Kind = iota
	// KindParse: the body is not JSON.
	KindParse
	// KindInvalidRequest: the body is JSON, but not a valid JSON-RPC message here.
	KindInvalidRequest
	// KindMethodNotFound: the method does not exist, or its capability is not advertised.
	KindMethodNotFound
	// KindInvalidParams: the params are invalid for the method.
	KindInvalidParams
	// KindUnknownTool and KindUnknownPrompt: no backend has the tool or prompt.
	KindUnknownTool
	KindUnknownPrompt
	// KindResourceNotFound: no backend has the resource.
	KindResourceNotFound
	// KindBadCursor: the cursor is unknown or too old.
	KindBadCursor
	// KindBadState: the requestState was not sealed here or for this request, or has expired.
	KindBadState
	// KindHeaderMismatch: a header is missing, malformed, or differs from the body.
	KindHeaderMismatch
	// KindMissingCapability: the client lacks a capability that the call requires.
	KindMissingCapability
	// KindUnsupportedVersion: the protocol version is not supported.
	KindUnsupportedVersion
	// KindSessionRequired: a legacy request without a session id.
	KindSessionRequired
	// KindSessionNotFound: the session has ended, never existed, or belongs to another principal.
	KindSessionNotFound
	// KindBadEventID: the Last-Event-ID is not an event of the session.
	KindBadEventID
	// KindForbidden: the caller, or the browser's origin, is not allowed.
	KindForbidden
	// KindUnauthenticated: no valid token.
	KindUnauthenticated
	// KindTooLarge: a bound on bytes or counts was exceeded.
	KindTooLarge
	// KindLimit: too many sessions, streams or calls at the edge, or a quota of the edge is used up; a
	// retry may succeed later.
	KindLimit
	// KindQuota: the backend reports that a quota is exhausted, or a call has used all its rounds.
	KindQuota
	// KindStateUnavailable: the durable state is unavailable; nothing was begun, unless the message
	// says otherwise.
	KindStateUnavailable
	// KindOverloaded: the edge has no memory for the request now; nothing was begun, unless the
	// message says otherwise.
	KindOverloaded
	// KindUnavailable: the backend is unavailable.
	KindUnavailable
	// KindTimeout: the backend did not answer in time.
	KindTimeout
	// KindCancelled: the call was cancelled.
	KindCancelled
	// KindUnknownOutcome: a replica, or the connection to the backend, was lost during the call;
	// whether the call took effect is unknown.
	KindUnknownOutcome
	// KindContract: the backend broke the contract.
	KindContract
	// KindNoStream: a GET without a session, for which there is no stream.
	KindNoStream
	// KindInternal: an error of the edge or of the backend.
	KindInternal
)

// Fault reports whether the edge, its state or a backend caused the error, rather than the caller.
func (k Kind) Fault() bool {
	switch k {
	case KindStateUnavailable, KindUnavailable, KindTimeout, KindUnknownOutcome, KindContract, KindInternal:
		return true
	}
	return false
}

// Error is an error for the client. Clients see Message, which says what was wrong, with which
// value, and what to do.
type Error struct {
	Kind    Kind
	Message string
	// Data is the JSON-RPC error's data. nil means none.
	Data json.RawMessage
	// RetryAfter is the delay before the same request may succeed. 0 means unknown.
	RetryAfter time.Duration
	// Challenge describes the credentials that the request needs. nil means that other credentials
	// would not help, or that it is unknown.
	Challenge *Challenge
	// Reason is why the request was refused, for logs only, where Message does not say it. Empty
	// means that Message does.
	Reason string
	// Err is the cause, for logs only. It may be nil.
	Err error
}

// Challenge describes the credentials that a request lacks. A transport with status codes sends it
// with 401 or 403.
type Challenge struct {
	// Scopes are all scopes that an access token must be requested with.
	Scopes []string
	// Anonymous means that the request has no credentials.
	Anonymous bool
	// Invalid means that the issuer reported the access token as invalid after the request was
	// accepted. The client must request another one.
	Invalid bool
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Cause returns the cause of a fault, for operators. Clients only see the message. It is nil for
// errors of the caller, whose cause may repeat data of the caller, and may be nil for others.
func (e *Error) Cause() error {
	if !e.Kind.Fault() {
		return nil
	}
	return e.Err
}

// Errorf makes an Error of a kind. %w keeps the cause.
func Errorf(kind Kind, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: kind, Message: err.Error(), Err: errors.Unwrap(err)}
}

// Overloaded makes the error for memory that could not be reserved, such as a *budget.Full.
func Overloaded(err error) *Error {
	return &Error{Kind: KindOverloaded, Message: err.Error(), Err: err}
}

// ShuttingDown makes the error for a request to a replica that is shutting down.
func ShuttingDown() *Error {
	return Errorf(KindUnavailable, "this server is shutting down; send the request again")
}

// AsError converts any error: an Error is returned as it is; any other becomes internal, and
// clients do not see its text.
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Kind: KindInternal, Message: "internal error", Err: err}
}
