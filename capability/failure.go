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

// Reason is the reason why a call has no result.
type Reason = mcpedgev1.FailureReason

// The reasons of a Failure. For a tool, the model sees InvalidArgument, FailedPrecondition and
// NotFound as a result with `isError`. All others become protocol errors.
const (
	// InvalidArgument means that the arguments are invalid.
	InvalidArgument = mcpedgev1.FailureReason_FAILURE_REASON_INVALID_ARGUMENT
	// NotFound means that what the handler looked for does not exist.
	NotFound = mcpedgev1.FailureReason_FAILURE_REASON_NOT_FOUND
	// FailedPrecondition means that the system is not in the state that the call requires.
	FailedPrecondition = mcpedgev1.FailureReason_FAILURE_REASON_FAILED_PRECONDITION
	// PermissionDenied means that the caller has no permission.
	PermissionDenied = mcpedgev1.FailureReason_FAILURE_REASON_PERMISSION_DENIED
	// ResourceExhausted means that a quota is exhausted.
	ResourceExhausted = mcpedgev1.FailureReason_FAILURE_REASON_RESOURCE_EXHAUSTED
	// Unavailable means that the caller should retry later.
	Unavailable = mcpedgev1.FailureReason_FAILURE_REASON_UNAVAILABLE
	// DeadlineExceeded means that the call took too long.
	DeadlineExceeded = mcpedgev1.FailureReason_FAILURE_REASON_DEADLINE_EXCEEDED
	// Internal means that the service has a bug.
	Internal = mcpedgev1.FailureReason_FAILURE_REASON_INTERNAL
)

// Failure is an error that ends a call with a reason. Handlers return it as an error; it may be
// wrapped. Errorf returns one.
type Failure struct {
	// Reason selects the protocol error.
	Reason Reason
	// Message says what was wrong, with which value, and what to do.
	Message string
	// Data is any JSON value for the error's `data`. Empty means none.
	Data json.RawMessage
	// Scopes are the OAuth scopes that the caller lacks, with PermissionDenied: at most 32, each of
	// at most 256 bytes. A client that gets an access token with them can call again. nil means
	// that other credentials would not help.
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

// LacksScopes returns a *Failure for a caller that lacks OAuth scopes. The edge asks the client to
// get an access token with them and to call again. Call.Principal has the scopes of the current
// token.
func LacksScopes(scopes ...string) error {
	return &Failure{
		Reason: PermissionDenied, Scopes: scopes,
		Message: "this needs the scopes " + strings.Join(scopes, " ") + ": get an access token that has them",
	}
}

// mask returns plain, or, if WithMaskedErrors is set, a function that hides errors without a reason
// and writes them to the log.
func mask[R any](s *Server, name string, c *Call, plain func(error) (R, error)) func(error) (R, error) {
	if !s.maskErrors {
		return plain
	}
	return func(err error) (R, error) {
		if errors.Is(err, ErrUnanswered) {
			return plain(err)
		}
		s.log.Error("a handler failed", "handler", name, "call_id", c.ID(), "error", err)
		var none R
		return none, &Failure{Reason: Internal, Message: name + " failed by a fault of the service"}
	}
}

// forModel converts NOT_FOUND from a tool's handler into a result that the model sees: the tool
// exists, but not what it looked for.
func forModel(out outcome[*mcpedgev1.CallToolResult]) outcome[*mcpedgev1.CallToolResult] {
	var message string
	switch {
	case out.failure.GetReason() == NotFound:
		message = out.failure.GetMessage()
	case status.Code(out.err) == codes.NotFound:
		message = status.Convert(out.err).Message()
	default:
		return out
	}
	return outcome[*mcpedgev1.CallToolResult]{result: &mcpedgev1.CallToolResult{Content: []*Content{Text(message)}, IsError: true}}
}

// quote quotes a name from a request, shortened to 200 bytes.
func quote(name string) string { return fmt.Sprintf("%.200q", name) }

// proto returns the failure as a message of the contract.
func (f *Failure) proto() *mcpedgev1.Failure {
	if len(f.Data) > 0 && !json.Valid(f.Data) {
		return &mcpedgev1.Failure{Reason: Internal,
			Message: fmt.Sprintf("%s (and the failure's data is not valid JSON: %.80q)", valid(f.Message), string(f.Data))}
	}
	return &mcpedgev1.Failure{Reason: f.Reason, Message: valid(f.Message), DataJson: string(f.Data), Scopes: f.Scopes}
}

// failureStatus returns a failure as a gRPC status, for unary RPCs.
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
