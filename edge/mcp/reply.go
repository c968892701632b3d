package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// Reply is the result of one round that did not fail: a complete result, or Input.
type Reply struct {
	// Result is the complete result object, rendered under the call's revision. The receiver owns
	// it.
	Result json.RawMessage
	// ToolError is true when Result is a tool result with isError.
	ToolError bool
	// Task is the id of the task that the call became, which Result describes. Empty means none.
	Task string
	// Input has the requests that the client must answer before the next round. nil means that
	// Result is complete.
	Input *InputRequired

	// message is the whole message that contains Result, if it was rendered into one; see Envelope.
	message []byte
}

// InputRequired asks for another round. At least one of Requests and State is set.
type InputRequired struct {
	// Requests are to the client, in the backend's order, with unique keys.
	Requests []InputRequest
	// State is the backend's state, to be returned verbatim.
	State []byte
	// RetryAfter is the delay before the next round if there are no Requests. 0 means a short one.
	RetryAfter time.Duration
	// Repeatable means that the next round may be repeated with State, even if its tool is not
	// idempotent.
	Repeatable bool
	// AwaitWithdrawal waits until Requests need no answers any more, although the client has given
	// none, and returns true: the call then continues without them. It returns false when ctx ends.
	// It holds no reference to the call, and may be called concurrently. nil means that the
	// requests are never withdrawn.
	AwaitWithdrawal func(ctx context.Context) bool
}

// ErrUndecided means that a request is refused because the policy server made no decision. The
// request may be allowed later.
var ErrUndecided = errors.New("the policy server did not decide on the request")

// ErrMisfit means that the client's answers do not match a question after all repetitions of it.
var ErrMisfit = errors.New("the answers of the client do not match the question")

// CheckRounds returns the error that ends a call which asks in too many rounds, or nil. asked is the
// number of earlier rounds that asked, most the bound.
func (in *InputRequired) CheckRounds(asked, most int) error {
	if asked < most {
		return nil
	}
	return Errorf(KindQuota, "the call asks %q after round %d of questions, the maximum of the setting calls.rounds", in.Requests[0].Key, asked)
}

// OwnKeys is the prefix of the keys of the edge's own requests. Keys of a backend do not have it.
const OwnKeys = "mcpedge."

// InputRequest is one request to the client, rendered under the call's revision.
type InputRequest struct {
	Key    string
	Method Method
	// Params is the params object, without an elicitationId, which the era adds if the revision has
	// one.
	Params json.RawMessage
	// URLMode is true for an elicitation that opens a URL.
	URLMode bool
}
