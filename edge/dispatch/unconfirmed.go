package dispatch

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/once"
	"github.com/mcpedge/mcpedge/edge/policy"
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
	if !r.spent || !r.rules.Stateless || r.call.Task != nil {
		return err
	}
	e := *mcp.AsError(err)
	e.Message += "; the user's confirmation was used: call again without requestState"
	return &e
}

// consentError returns an error of a call whose consent does not hold, with a reason in its data.
func consentError(kind mcp.Kind, reason, format string, args ...any) *mcp.Error {
	return &mcp.Error{Kind: kind, Data: json.RawMessage(`{"reason":"` + reason + `"}`), Message: fmt.Sprintf(format, args...)}
}

// spentBefore is the error of a call whose confirmation was used, or its approval.
func spentBefore(m mcp.Method, isApproval bool) *mcp.Error {
	if isApproval {
		return consentError(mcp.KindUnknownOutcome, "approval_used", "the approval of this call was used before, and holds once; "+
			"whether that %s took effect is not known here: check before you call again", m)
	}
	return consentError(mcp.KindUnknownOutcome, "confirmation_used", "the user's confirmation of this call was used before, and holds once; "+
		"whether that %s took effect is not known here: check before you call again, without requestState", m)
}

// endedBefore is the error of a call whose question was answered before, and which then was not run.
func endedBefore(how string) *mcp.Error {
	if how == endedAsked {
		return consentError(mcp.KindForbidden, "confirmation_replaced", "the call was not run: its question for confirmation was answered before, "+
			"and was followed by another one, whose requestState holds")
	}
	return consentError(mcp.KindForbidden, "confirmation_refused", "the call was not run: its question for confirmation was answered before, "+
		"and was not accepted; to ask again, call without requestState")
}

// unknownUse returns the error for a call if it is unknown whether its confirmation was used.
func unknownUse(m mcp.Method) *mcp.Error {
	return consentError(mcp.KindUnknownOutcome, "confirmation_unknown", "the call was confirmed at another server, or at this one before it was "+
		"restarted, and whether it continued there is not known here; nor is whether that %s took effect: check before you call again, "+
		"without requestState", m)
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

// confirmations names confirmations in an error.
func confirmations(names []string) string { return "confirmation " + quotedNames(names) }

// approvals names approvals in an error.
func approvals(names []string) string { return "approval " + quotedNames(names) + " of another person" }

// namesOf returns the names of obligations.
func namesOf(obligations []policy.Obligation) []string {
	names := make([]string, len(obligations))
	for i := range obligations {
		names[i] = obligations[i].Name
	}
	return names
}

// quotedNames returns names for an error.
func quotedNames(names []string) string {
	quoted := make([]string, len(names))
	for i := range names {
		quoted[i] = strconv.Quote(names[i])
	}
	return strings.Join(quoted, ", ")
}

// countConsents counts an outcome of each of the confirmations or approvals with these names.
func (r *round) countConsents(outcome string, names []string) {
	for _, name := range names {
		r.d.opts.Telemetry.Confirmation(name, outcome)
	}
}
