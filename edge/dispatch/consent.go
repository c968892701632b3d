package dispatch

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// consentState is the state of the consent of a call: of the approvals of other persons and the
// confirmations of its user that the call requires. Its life spans the rounds of the call:
//
//	a round begins   with its answer          it lacks                   the next one begins
//
//	None, Held ───────────────────────────┐
//	Awaits ────────► granted, or none ────┼─► approvals: awaitApproval ──────► Awaits
//	Asks ──────────► accepted, or none ───┼─► confirmations: ask ────────────► Asks
//	                                      └─► nothing: Accepted, Remembered, Held or None
//	                                            spend, then the backend runs
//	                                            ├─ and requires input ───────► Held, None
//	                                            └─ and ends: the call ends
//	Awaits, Asks ──► refused ───────────────► endRefused: the call ends
//
// setCall reads the state of a round and the answer, applyAnswer applies the answer, and
// requireConsent moves the state to the end of the round. The user accepts by the client's answer; an
// approver grants by a verdict in the record of a task.
//
// The consent is stored before the backend's own state, which the client keeps, sealed, as
// requestState, or a session or a task in its record. Its nonce is spent once: by spend, or when its
// question ends in another way. A grant counts only for the call whose digest the consent has.
type consentState byte

const (
	// consentNone means that no confirmation is required or, before a round, that nothing was.
	consentNone consentState = iota
	// consentAwaits means that the round before waited for approvals.
	consentAwaits
	// consentAsks means that confirmations are missing or, before a round, that the user was asked.
	consentAsks
	// consentAccepted means that the user has given all confirmations that are missing. The quotas
	// were charged in the round that asked.
	consentAccepted
	// consentRemembered means that all confirmations are remembered from earlier calls.
	consentRemembered
	// consentHeld means that an earlier round ran at the backend with all that is required.
	consentHeld
)

// state returns the state in which the next round begins.
func (c *consent) state() consentState {
	switch {
	case c.Awaits != nil:
		return consentAwaits
	case c.Call == nil:
		return consentNone
	case c.Asked:
		return consentAsks
	}
	return consentHeld
}

// setCall makes a resolved round that of a call with the same params, in the state that is stored.
func (r *round) setCall(call *mcp.Call) {
	r.call, r.misfits, r.before = withOwnState(call)
	r.answer, r.holds = nil, &noConsent
	switch r.state = r.before.state(); r.state { // The only question was that of the edge.
	case consentAwaits:
		r.answer = r.answerTo(mcp.ApprovalKey)
	case consentAsks:
		r.answer = r.answerTo(confirmKey)
	default:
		return
	}
	r.call.Responses = r.before.kept()
}

// endRefused ends a call that was not confirmed or approved. The answer alone decides, because the
// settings in force may require less than the question did.
func (r *round) endRefused(ctx context.Context) error {
	if r.answer == nil {
		return nil
	}
	if r.state == consentAwaits {
		return r.endUnapproved(ctx)
	}
	return r.endUnconfirmed(ctx)
}

// requireConsent returns the question of a call that lacks an approval or a confirmation. Otherwise
// it returns nil, nil, and the call may run after spend. It charges the quotas, and records that the
// call is allowed, unless spend does.
func (r *round) requireConsent(ctx context.Context, args json.RawMessage) (*mcp.InputRequired, error) {
	if r.required != &noRequirements || r.before != &noConsent {
		r.holds = new(consent)
	}
	if r.applyAnswer(args); r.state != consentAccepted {
		if err := r.allowed.Charge(ctx, r.call); err != nil {
			return nil, err
		}
	}
	approvals, err := r.missingApprovals(ctx, args)
	if err != nil {
		return nil, err
	}
	if len(approvals) > 0 {
		return r.awaitApproval(ctx, approvals, args)
	}
	if r.state == consentAsks {
		confirmations, err := r.recall(ctx)
		if err != nil {
			return nil, err
		}
		if len(confirmations) > 0 {
			return r.ask(ctx, confirmations, args)
		}
		r.state = consentRemembered
	}
	if r.before.Nonce != "" { // spend records it.
		return nil, nil
	}
	return nil, r.allow(ctx)
}

// applyAnswer moves the state to that of the confirmations: by those that are required now, those that
// the call had, and the user's answer, which accepts, because endRefused has handled the others.
func (r *round) applyAnswer(args json.RawMessage) {
	from, required := r.before.state(), r.required.confirmations
	accepted := from == consentAsks && r.answer != nil
	if len(required) == 0 && !accepted {
		r.state = consentNone
		return
	}
	isCovered := bytes.Equal(r.before.Call, r.digest(args)) && r.before.hasAll(required)
	if isCovered {
		r.holds.Has = r.before.Has
	}
	switch {
	case accepted && (len(required) == 0 || isCovered && r.nonceUsable()):
		r.state = consentAccepted
	case isCovered && from == consentHeld:
		r.state = consentHeld
	default:
		r.state = consentAsks
	}
}

// nextConsent returns the consent of the round after one in which the backend required input. The
// client keeps it if isSent is true.
func (r *round) nextConsent(isSent bool) *consent {
	next := &consent{Rounds: r.before.Rounds}
	args, err := r.arguments()
	if len(r.holds.Has)+len(r.holds.Approved) == 0 || err != nil {
		return next
	}
	if next.Call, next.Has, next.Approved = r.digest(args), r.holds.Has, r.holds.Approved; isSent {
		r.issueNonce(next)
	}
	return next
}

// nextQuestion returns the consent of the round after one in which the edge asks for an approval or
// a confirmation. It returns false if the client's answers that the backend has not received exceed
// their bound.
func (r *round) nextQuestion(args json.RawMessage) (*consent, bool) {
	next := &consent{Call: r.digest(args), Approved: r.holds.Approved, Rounds: r.before.Rounds + 1}
	r.issueNonce(next)
	return next, next.keep(r.call.Responses)
}

// stateAfter returns the state of a call whose round ends with a question of the edge, and binds the
// call to its backend.
func (r *round) stateAfter(next *consent) []byte {
	if binder, ok := r.sink.(mcp.Binder); ok {
		binder.Bind(r.named.Tool.Owner.Name())
	}
	return next.prepend(r.misfits.prepend(r.call.State))
}
