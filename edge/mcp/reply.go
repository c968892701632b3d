package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// Reply is the outcome of one round that did not fail: a complete result, or Input.
type Reply struct {
	// Result is the complete result object, rendered under the call's revision. Owned by the receiver.
	Result json.RawMessage
	// ToolError is true when Result is a tool result with isError.
	ToolError bool
	// Task is the id of the task that the call became, of which Result tells; empty: it became none.
	Task string
	// Input is what the client must answer before the next round; nil: Result is complete.
	Input *InputRequired

	// message is the whole message that Result is a part of, if it was made in one; see Envelope.
	message []byte
}

// InputRequired asks for another round. At least one of Requests and State is set.
type InputRequired struct {
	// Requests to the client, in the backend's order, keys unique.
	Requests []InputRequest
	// State is the backend's memory, to be given back verbatim.
	State []byte
	// RetryAfter is when to call again if there are no Requests; 0: soon.
	RetryAfter time.Duration
	// Repeatable: the next round may be run again with State, whatever its tool says.
	Repeatable bool
	// AwaitWithdrawal waits until Requests need no answers any more, though the client has given none, and returns true: the call then goes
	// on without them. It returns false when ctx ends. It holds nothing of the call, and may be called concurrently. nil: the requests are
	// never withdrawn.
	AwaitWithdrawal func(ctx context.Context) bool
}

// ErrMisfit is that the client's answers to a question do not fit it, however often it is asked.
var ErrMisfit = errors.New("the client gives no answer that fits the question")

// Beyond is the error that ends a call which asks in more rounds than it may; nil: it may ask. asked is in how many rounds
// it has asked before, most in how many it may.
func (in *InputRequired) Beyond(asked, most int) error {
	if asked < most {
		return nil
	}
	return Errorf(KindQuota, "the call asks %q after round %d of questions, the last that it may have by the setting rounds", in.Requests[0].Key, asked)
}

// InputRequest is one request to the client, rendered under the call's revision.
type InputRequest struct {
	Key    string
	Method Method
	// Params object, without an elicitationId, which the era adds where the revision has one.
	Params json.RawMessage
	// URLMode is true for an elicitation that opens a URL.
	URLMode bool
}
