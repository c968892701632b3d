package dispatch

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/once"
)

// repeatableError returns an error of the backend after which the client may repeat the call. If the round has
// used a state of the client, the error says that the state cannot be used again.
func (r *round) repeatableError(err error) error {
	e := mcp.AsError(err)
	if e.Kind != mcp.KindUnavailable {
		return err
	}
	return r.withoutState(e)
}

// withoutState returns an error with the advice to call again without the previous round's state,
// if that state was used and is kept by the client.
func (r *round) withoutState(err error) error {
	if !r.answerUsed || !r.rules.Stateless || r.call.Task != nil {
		return err
	}
	e := *mcp.AsError(err)
	e.Message += "; the user's confirmation was used: call again without requestState"
	return &e
}

// spentBefore is the error of a call whose confirmation was used, or its approval.
func spentBefore(m mcp.Method, isApproval bool) *mcp.Error {
	if isApproval {
		return &mcp.Error{
			Kind: mcp.KindUnknownOutcome, Data: json.RawMessage(`{"reason":"approval_used"}`),
			Message: fmt.Sprintf("the approval of this call was used before, and holds once; whether that %s took effect is not known here: "+
				"check before you call again", m),
		}
	}
	return &mcp.Error{
		Kind: mcp.KindUnknownOutcome, Data: json.RawMessage(`{"reason":"confirmation_used"}`),
		Message: fmt.Sprintf("the user's confirmation of this call was used before, and holds once; "+
			"whether that %s took effect is not known here: check before you call again, without requestState", m),
	}
}

// endedBefore is the error of a call whose question was answered before, and which then was not run.
func endedBefore(how string) *mcp.Error {
	if how == endedAsked {
		return &mcp.Error{
			Kind: mcp.KindForbidden, Data: json.RawMessage(`{"reason":"confirmation_replaced"}`),
			Message: "the call was not run: its question for confirmation was answered before, and was followed by another one, " +
				"whose requestState holds",
		}
	}
	return &mcp.Error{
		Kind: mcp.KindForbidden, Data: json.RawMessage(`{"reason":"confirmation_refused"}`),
		Message: "the call was not run: its question for confirmation was answered before, and was not accepted; " +
			"to ask again, call without requestState",
	}
}

// unknownUse returns the error for a call if it is unknown whether its confirmation was used.
func unknownUse(m mcp.Method) *mcp.Error {
	return &mcp.Error{
		Kind: mcp.KindUnknownOutcome, Data: json.RawMessage(`{"reason":"confirmation_unknown"}`),
		Message: fmt.Sprintf("the call was confirmed at another server, or at this one before it was restarted, and whether it continued there "+
			"is not known here; nor is whether that %s took effect: check before you call again, without requestState", m),
	}
}

// unacknowledged returns the error for a call if the use of its confirmation or approval is
// recorded in too few places.
func unacknowledged(err error) *mcp.Error {
	return &mcp.Error{Kind: mcp.KindStateUnavailable, Err: err,
		Message: "the call was not run: its confirmation was used, and too few copies of the state recorded that in time; call again later"}
}

// spendError is the error of a call while the store of confirmations does not answer.
func spendError(err error) error {
	if errors.Is(err, once.ErrFull) {
		return &mcp.Error{Kind: mcp.KindLimit, Err: err, RetryAfter: time.Minute,
			Message: "the call must be confirmed, and no more confirmations can be kept: it was not run; try again later"}
	}
	if e := mcp.AsError(err); e.Kind == mcp.KindLimit {
		return &mcp.Error{Kind: mcp.KindLimit, Err: err, RetryAfter: time.Minute, Message: fmt.Sprintf(
			"the call must be confirmed, and %d confirmations of the caller are kept, the limit: it was not run; try again later",
			maxConfirmationsOfOne)}
	}
	return &mcp.Error{Kind: mcp.KindStateUnavailable, Err: err,
		Message: "the call must be confirmed, and the state of confirmations cannot be reached: it was not run; try again later"}
}
