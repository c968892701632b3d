package capability

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// Reason says why there is no result.
type Reason = mcpedgev1.FailureReason

// The reasons of a Failure. For a tool, InvalidArgument and FailedPrecondition reach the model as a
// result with `isError`; all others are protocol errors.
const (
	// InvalidArgument: the arguments are wrong.
	InvalidArgument = mcpedgev1.FailureReason_FAILURE_REASON_INVALID_ARGUMENT
	// NotFound: the named tool, prompt or resource does not exist.
	NotFound = mcpedgev1.FailureReason_FAILURE_REASON_NOT_FOUND
	// FailedPrecondition: the state of the world does not allow it now.
	FailedPrecondition = mcpedgev1.FailureReason_FAILURE_REASON_FAILED_PRECONDITION
	// PermissionDenied: the caller may not do it.
	PermissionDenied = mcpedgev1.FailureReason_FAILURE_REASON_PERMISSION_DENIED
	// ResourceExhausted: a quota is used up.
	ResourceExhausted = mcpedgev1.FailureReason_FAILURE_REASON_RESOURCE_EXHAUSTED
	// Unavailable: try again later.
	Unavailable = mcpedgev1.FailureReason_FAILURE_REASON_UNAVAILABLE
	// DeadlineExceeded: it took too long.
	DeadlineExceeded = mcpedgev1.FailureReason_FAILURE_REASON_DEADLINE_EXCEEDED
	// Internal: a fault of this service.
	Internal = mcpedgev1.FailureReason_FAILURE_REASON_INTERNAL
)

// Failure is an error that ends a call with a reason instead of a result. Handlers return it as
// an error; it is found in wrapped errors too. Errorf makes one.
type Failure struct {
	// Reason chooses the protocol error.
	Reason Reason
	// Message says what was wrong, with which value, and what to do.
	Message string
	// Data is any JSON value for the error's `data`; empty: none.
	Data json.RawMessage
	// Scopes are, with PermissionDenied, the OAuth scopes that the caller lacks: at most 32 of at most 256 bytes. A client that gets
	// an access token with them can call again. Nil: other credentials would not help.
	Scopes []string

	cause error
}

// Error returns the message.
func (f *Failure) Error() string { return f.Message }

// Unwrap returns the error that Errorf wrapped with %w, or nil.
func (f *Failure) Unwrap() error { return f.cause }

// Errorf returns a *Failure with the given reason and formatted message; %w works as in fmt.Errorf.
func Errorf(reason Reason, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &Failure{Reason: reason, Message: err.Error(), cause: errors.Unwrap(err)}
}

// LacksScopes returns a *Failure by which the caller needs OAuth scopes for what was asked: the client is told to get an access token
// with them, and can call again. Call.Principal has those that it has now.
func LacksScopes(scopes ...string) error {
	return &Failure{
		Reason: PermissionDenied, Scopes: scopes,
		Message: "this needs the scopes " + strings.Join(scopes, " ") + ": get an access token that has them",
	}
}

// quote shows a name from a request, bounded.
func quote(name string) string { return fmt.Sprintf("%.200q", name) }

// proto is the failure as the contract has it.
func (f *Failure) proto() *mcpedgev1.Failure {
	if len(f.Data) > 0 && !json.Valid(f.Data) {
		return &mcpedgev1.Failure{Reason: Internal,
			Message: fmt.Sprintf("%s (and the failure's data is not valid JSON: %.80q)", valid(f.Message), string(f.Data))}
	}
	return &mcpedgev1.Failure{Reason: f.Reason, Message: valid(f.Message), DataJson: string(f.Data), Scopes: f.Scopes}
}

// failureStatus is a failure as a gRPC status, for calls that have no other way to say it.
func failureStatus(f *mcpedgev1.Failure) error {
	code, ok := map[Reason]codes.Code{
		InvalidArgument: codes.InvalidArgument, NotFound: codes.NotFound,
		FailedPrecondition: codes.FailedPrecondition, PermissionDenied: codes.PermissionDenied,
		ResourceExhausted: codes.ResourceExhausted, Unavailable: codes.Unavailable,
		DeadlineExceeded: codes.DeadlineExceeded,
	}[f.GetReason()]
	if !ok {
		code = codes.Internal
	}
	return status.Error(code, f.GetMessage())
}
