package translate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// outcome is a row of the table from gRPC statuses to kinds.
type outcome struct {
	name string
	kind mcp.Kind
	// text replaces the status message, which may contain host names or internals. Empty means that
	// the message is meant for the caller and is passed on.
	text string
	// model is true if a model can act on the error: for a tool call it becomes a result with
	// isError.
	model bool
}

// outcomes is the only table from gRPC statuses to kinds. NOT_FOUND means a resource until
// ForMethod refines it. UNAUTHENTICATED means that the backend rejected the edge, not the caller.
var outcomes = map[codes.Code]outcome{
	codes.Canceled:           {name: "CANCELLED", kind: mcp.KindCancelled, text: "the call was cancelled"},
	codes.Unknown:            {name: "UNKNOWN", kind: mcp.KindInternal, text: "the backend failed"},
	codes.InvalidArgument:    {name: "INVALID_ARGUMENT", kind: mcp.KindInvalidParams, model: true},
	codes.DeadlineExceeded:   {name: "DEADLINE_EXCEEDED", kind: mcp.KindTimeout, text: "the backend did not answer in time"},
	codes.NotFound:           {name: "NOT_FOUND", kind: mcp.KindResourceNotFound},
	codes.AlreadyExists:      {name: "ALREADY_EXISTS", kind: mcp.KindInternal},
	codes.PermissionDenied:   {name: "PERMISSION_DENIED", kind: mcp.KindForbidden},
	codes.ResourceExhausted:  {name: "RESOURCE_EXHAUSTED", kind: mcp.KindQuota},
	codes.FailedPrecondition: {name: "FAILED_PRECONDITION", kind: mcp.KindInvalidParams, model: true},
	codes.Aborted:            {name: "ABORTED", kind: mcp.KindInternal},
	codes.OutOfRange:         {name: "OUT_OF_RANGE", kind: mcp.KindInvalidParams, model: true},
	codes.Unimplemented:      {name: "UNIMPLEMENTED", kind: mcp.KindInternal, text: "the backend does not serve this method"},
	codes.Internal:           {name: "INTERNAL", kind: mcp.KindInternal, text: "the backend failed"},
	codes.Unavailable:        {name: "UNAVAILABLE", kind: mcp.KindUnavailable, text: "the backend cannot be reached; try again later"},
	codes.DataLoss:           {name: "DATA_LOSS", kind: mcp.KindInternal, text: "the backend lost data"},
	codes.Unauthenticated:    {name: "UNAUTHENTICATED", kind: mcp.KindInternal, text: "the backend refused the edge"},
}

// reasons maps a Failure's reason to the equivalent status.
var reasons = map[pb.FailureReason]codes.Code{
	pb.FailureReason_FAILURE_REASON_INVALID_ARGUMENT:    codes.InvalidArgument,
	pb.FailureReason_FAILURE_REASON_NOT_FOUND:           codes.NotFound,
	pb.FailureReason_FAILURE_REASON_FAILED_PRECONDITION: codes.FailedPrecondition,
	pb.FailureReason_FAILURE_REASON_PERMISSION_DENIED:   codes.PermissionDenied,
	pb.FailureReason_FAILURE_REASON_RESOURCE_EXHAUSTED:  codes.ResourceExhausted,
	pb.FailureReason_FAILURE_REASON_UNAVAILABLE:         codes.Unavailable,
	pb.FailureReason_FAILURE_REASON_DEADLINE_EXCEEDED:   codes.DeadlineExceeded,
	pb.FailureReason_FAILURE_REASON_INTERNAL:            codes.Internal,
}

// refusal marks an error as a backend's answer, and keeps its status for ToolError and logs.
type refusal struct {
	code codes.Code
	err  error
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// Status converts the error of a gRPC call by the table. An *mcp.Error stays unchanged, a context's
// error counts as its status, and any other error is internal. Data is {"backend","status"}, and
// "retryAfterMs" if the status has a RetryInfo. Messages that may come from gRPC or a crash are
// hidden from clients; they remain in Err. maxMessage is the maximum size of a backend's message in
// bytes.
func Status(err error, backend string, maxMessage int) *mcp.Error {
	var e *mcp.Error
	if errors.As(err, &e) {
		return e
	}
	st, ok := status.FromError(err)
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		st = status.FromContextError(err)
	case !ok:
		return mcp.AsError(err)
	}
	row, ok := outcomes[st.Code()]
	if !ok {
		row = outcomes[codes.Unknown]
	}
	kind, message := row.kind, row.text
	if message == "" {
		message = mcp.ClipText(st.Message())
		if large := tooLarge(message, maxMessage); large != "" {
			kind, message = mcp.KindInternal, large // waiting does not help, unlike for a quota
		}
	}
	if message == "" {
		message = "the backend answered " + row.name
	}
	out := &mcp.Error{
		Kind: kind, Message: message, Data: statusData(backend, row.name),
		Err: &refusal{code: st.Code(), err: clipped(err, st)},
	}
	if out.RetryAfter = retryAfter(st); out.RetryAfter > 0 {
		out.Message = fmt.Sprintf("%s; try again after %s", strings.TrimSuffix(message, "; try again later"), out.RetryAfter)
		out.Data = fmt.Appendf(out.Data[:len(out.Data)-1], `,"retryAfterMs":%d}`, out.RetryAfter.Milliseconds())
	}
	return out
}

// clipped is an error whose text is cut to the maximum length of a status' text.
func clipped(err error, st *status.Status) error {
	if len(st.Message()) <= mcp.MaxText {
		return err
	}
	return status.Error(st.Code(), mcp.ClipText(st.Message()))
}

// tooLarge returns the message for an answer of the backend that gRPC refused to receive or to send
// because of its size, or an empty text for any other status. A service that refused to receive a
// request because of its size names another bound than maxMessage.
func tooLarge(message string, maxMessage int) string {
	var size, most int
	if n, _ := fmt.Sscanf(message, "grpc: received message larger than max (%d vs. %d)", &size, &most); n == 2 && most == maxMessage {
		return fmt.Sprintf("the backend sent a message of %d bytes, above the %d of its max-message: send less, or raise max-message", size, most)
	}
	if slices.ContainsFunc(sendLimitPhrases, func(words string) bool { return strings.Contains(message, words) }) {
		return "the backend's answer is larger than the backend may send: " + message
	}
	return ""
}

// sendLimitPhrases are phrases of gRPC implementations for a message above their configured send limit: Go,
// C++ (with Python and Ruby), Node.
var sendLimitPhrases = []string{"trying to send message larger than max (", "Sent message larger than max (", "Attempted to send message with a size larger than "}

// Failure converts a backend's Failure by the same table. Its message is meant for the caller and
// always passed on. Its data replace {"backend","status"}. Data that are not valid JSON are
// KindContract.
func Failure(f *pb.Failure, backend string) *mcp.Error {
	code, ok := reasons[f.GetReason()]
	if !ok {
		code = codes.Internal
	}
	row := outcomes[code]
	message := mcp.ClipText(f.GetMessage())
	if message == "" {
		message = row.text
	}
	if message == "" {
		message = "the backend answered " + row.name
	}
	data := statusData(backend, row.name)
	if f.GetDataJson() != "" {
		var err error
		if data, err = appendJSON(nil, "failure.data_json", f.GetDataJson()); err != nil {
			return mcp.AsError(err)
		}
	}
	e := &mcp.Error{
		Kind: row.kind, Message: message, Data: data,
		Err: &refusal{code: code, err: errors.New(row.name + ": " + message)},
	}
	if code != codes.PermissionDenied || len(f.GetScopes()) == 0 {
		return e
	}
	if err := scopesFit(f.GetScopes()); err != nil {
		return mcp.AsError(err)
	}
	e.Challenge = &mcp.Challenge{Scopes: f.GetScopes()}
	if f.GetDataJson() == "" {
		e.Data = mcp.LackingData(f.GetScopes())
	}
	return e
}

// These bound the scopes of a Failure and the bytes of each, because a challenge is an HTTP header.
const (
	maxScopes     = 32
	maxScopeBytes = 256
)

// scopesFit returns an error if the scopes of a Failure are invalid.
func scopesFit(scopes []string) error {
	if len(scopes) > maxScopes {
		return mcp.Errorf(mcp.KindContract, "failure.scopes has %d scopes; at most %d fit into a challenge", len(scopes), maxScopes)
	}
	for i, s := range scopes {
		if len(s) > maxScopeBytes {
			return mcp.Errorf(mcp.KindContract, "failure.scopes[%d] has %d bytes; at most %d are allowed", i, len(s), maxScopeBytes)
		}
		if why := mcp.NotScope(s); why != "" {
			return mcp.Errorf(mcp.KindContract, "failure.scopes[%d] %q %s", i, s, why)
		}
	}
	return nil
}

func statusData(backend, name string) json.RawMessage {
	dst := jsonrpc.AppendString(append(make([]byte, 0, 64), `{"backend":`...), backend)
	dst = jsonrpc.AppendString(append(dst, `,"status":`...), name)
	return append(dst, '}')
}

// ForMethod makes a backend's NOT_FOUND specific to the method: the tool or prompt, or the
// resource, whose URI becomes the error's data (Server Features, "Resources", "Error Handling").
// For other methods it means invalid params. Any other error is returned unchanged. e is not
// modified.
func ForMethod(e *mcp.Error, m mcp.Method, target string) *mcp.Error {
	var r *refusal
	if !errors.As(e.Err, &r) || r.code != codes.NotFound {
		return e
	}
	out := *e
	switch m {
	case mcp.MethodToolsCall:
		out.Kind = mcp.KindUnknownTool
	case mcp.MethodPromptsGet:
		out.Kind = mcp.KindUnknownPrompt
	case mcp.MethodResourcesRead, mcp.MethodSubscribe, mcp.MethodSkillsGet, mcp.MethodDirectoryRead:
		out.Kind = mcp.KindResourceNotFound
		out.Data = append(jsonrpc.AppendString([]byte(`{"uri":`), target), '}')
	default:
		out.Kind = mcp.KindInvalidParams
	}
	return &out
}

// ToolError renders an error on which a model can act as a result with isError: a backend's
// INVALID_ARGUMENT, FAILED_PRECONDITION or OUT_OF_RANGE. If the protocol has no code for it, this
// includes a client that cannot be asked what the tool needs, or that gives no valid answer. It
// returns false for any other error.
func ToolError(r *revision.Rules, s *Server, e *mcp.Error) (json.RawMessage, bool) {
	var refused *refusal
	switch {
	case errors.As(e.Err, &refused) && outcomes[refused.code].model:
	case e.Kind == mcp.KindMissingCapability && !r.Stateless:
	case errors.Is(e.Err, mcp.ErrMisfit):
	default:
		return nil, false
	}
	return errorResult(r, s, e.Message), true
}

// SchemaError returns the error of arguments that do not fit a tool's input schema, in the form of
// the revision: either the result, with isError, or the error is nil.
func SchemaError(r *revision.Rules, s *Server, detail string) (json.RawMessage, *mcp.Error) {
	return ArgumentError(r, s, "the arguments do not fit the tool's input schema: "+detail)
}

// ArgumentError returns an error for the model about the arguments of a tool, as SchemaError does, with another message.
func ArgumentError(r *revision.Rules, s *Server, message string) (json.RawMessage, *mcp.Error) {
	if r.ArgumentErrorsAreResults {
		return errorResult(r, s, message), nil
	}
	return nil, &mcp.Error{Kind: mcp.KindInvalidParams, Message: message}
}

func errorResult(r *revision.Rules, s *Server, message string) json.RawMessage {
	dst := appendTextBlock([]byte(`{"content":[`), message)
	dst = append(dst, `}],"isError":true`...)
	return append(append(dst, s.tail[r.Index]...), '}')
}
