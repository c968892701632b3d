package access

import (
	"context"
	"errors"

	"github.com/mcpedge/mcpedge/edge/audit"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/policy/external"
	"github.com/mcpedge/mcpedge/edge/quota"
	"github.com/mcpedge/mcpedge/edge/revision"
)

// Permit is the result of the first stage of authorizing a round. Its methods are the later stages,
// in the order in which they run. The zero Permit allows every round and records nothing.
type Permit struct {
	by    *Decider
	rules *revision.Rules
	// backend is the name of the backend that serves the target. Empty means that the target does
	// not exist for the caller: no rule was evaluated, and only the policy server decides.
	backend string
	// rule is the name of the rule that allows the round. Empty means that no rule does, or that
	// there is no policy.
	rule string
}

// continued reports whether the round continues a call of a session or a task, which was charged in
// its first round.
func (p *Permit) continued(call *mcp.Call) bool {
	return call.Begun && (!p.rules.Stateless || call.Task != nil)
}

// Obliges reports whether Obligations may return confirmations or approvals.
func (p *Permit) Obliges() bool { return p.by != nil && p.by.policy != nil && p.by.policy.Obliges() }

// Obligations returns the confirmations and approvals that the policy requires of a call for t.
// Call it only if Obliges returns true. The error is a *mcp.Error, or that of args.
func (p *Permit) Obligations(ctx context.Context, call *mcp.Call, t *policy.Target, args policy.Arguments) ([]policy.Obligation, error) {
	list, failed, err := p.by.policy.Obligations(&call.Principal, t, args)
	if failed == nil {
		return list, err
	}
	p.by.report(call, t.Name, failed)
	by, kind := audit.ByConfirmation, p.by.policy.KindOf(failed.Rule)
	if kind == policy.KindApproval {
		by = audit.ByApproval
	}
	denied := mcp.Errorf(mcp.KindForbidden, "forbidden by the %s %q of the policy", kind, failed.Rule)
	denied.Reason = "the condition of the " + kind + " could not be evaluated, which denies"
	return nil, p.refused(ctx, call, by, failed.Rule, true, denied)
}

// Granted lists the confirmations and approvals that a call has when it runs.
type Granted struct {
	Confirmed []mcp.Confirmed
	Approved  []mcp.Approved
}

// Ask requests an authorization from the policy server, if there is one, and blocks until it
// answers. It returns nil if the request is allowed, and otherwise policy.ErrReplaced or a
// *mcp.Error.
func (p *Permit) Ask(ctx context.Context, call *mcp.Call) error {
	if p.by == nil || p.by.external == nil {
		return nil
	}
	a, err := p.by.external.Ask(ctx, call)
	if errors.Is(err, external.ErrClosed) {
		return p.by.closedError(err)
	}
	if err != nil {
		return err
	}
	c := p.by.c
	c.asked[a.Outcome].Add(1)
	v := audit.Verdict{Effect: audit.Deny, By: audit.ByExternal, Rule: a.Outcome.String()}
	switch {
	case a.Allow && a.Outcome == external.Failed:
		v.Effect = audit.Allow
		return c.decided(ctx, call, p.backend, v, nil)
	case a.Allow:
		return nil
	}
	return c.decided(ctx, call, p.backend, v, denial(&a))
}

// Charge charges the quotas for a round of a call of the tool call.Tool; other requests are free.
// It returns nil if the call is allowed. If a quota is exhausted, it returns a *mcp.Error of
// KindLimit with the delay before a retry.
//
// A call of a session, or a task, is charged once, in its first round, even if that round is
// retried after the loss of its replica. Any other call is charged in each round, because each is a
// request of its own, which a client can repeat without bound.
func (p *Permit) Charge(ctx context.Context, call *mcp.Call) error {
	tool, called := call.Tool()
	if !called || p.by == nil || p.by.c.o.Quotas == nil || p.continued(call) {
		return nil
	}
	c := p.by.c
	err := c.o.Quotas.Spend(ctx, &quota.Call{Principal: call.Principal, From: call.From, Tool: tool, Backend: p.backend, Set: call.Set})
	var refused *quota.Refused
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return c.decided(ctx, call, p.backend, audit.Verdict{Effect: audit.Deny, By: audit.ByQuota, Rule: refused.Rule},
			&mcp.Error{Kind: mcp.KindLimit, Message: err.Error(), RetryAfter: refused.Wait, Err: err})
	}
	return mcp.Errorf(mcp.KindCancelled, "the call ended before its quota was known: %w", err)
}

// Allow records that a call of the tool call.Tool is allowed: by the rule of the policy or, without
// one, by a confirmation, an approval or a quota. Other requests are not recorded. It returns nil
// or the error of the audit.
//
// has are the confirmations and approvals of the call. pending means that the earlier rounds were
// not recorded, because they waited for the user or an approver.
//
// A call of a session, or a task, is recorded once, in its first round that does not wait. It is
// recorded again if that round is retried after the loss of its replica. Any other call is recorded
// in each round.
func (p *Permit) Allow(ctx context.Context, call *mcp.Call, has Granted, pending bool) error {
	if _, called := call.Tool(); !called || p.by == nil {
		return nil
	}
	again := p.continued(call)
	if again && !pending && (call.Round > 1 || call.Attempt == 1) {
		return nil
	}
	v := audit.Verdict{Effect: audit.Allow, Confirmed: has.Confirmed, Approved: has.Approved}
	switch {
	case p.rule != "":
		v.By, v.Rule = audit.ByPolicy, p.rule
	case len(has.Confirmed) > 0:
		v.By = audit.ByConfirmation
	case len(has.Approved) > 0:
		v.By = audit.ByApproval
	case p.by.c.o.Quotas != nil && !again:
		v.By = audit.ByQuota
	}
	return p.by.c.decided(ctx, call, p.backend, v, nil)
}

// Refuse records that a call is refused because the user did not give the confirmation with the
// name, or could not be asked. It returns err, or the error of the audit.
func (p *Permit) Refuse(ctx context.Context, call *mcp.Call, name string, err error) error {
	if p.by == nil {
		return err
	}
	return p.refused(ctx, call, audit.ByConfirmation, name, false, err)
}

// Await records that a call waits for the approval with the name. It returns nil or the error of
// the audit.
func (p *Permit) Await(ctx context.Context, call *mcp.Call, name string) error {
	if p.by == nil {
		return nil
	}
	return p.by.c.decided(ctx, call, p.backend, audit.Verdict{Effect: audit.Wait, By: audit.ByApproval, Rule: name}, nil)
}

// Unapproved records that a call is refused because it did not get the approval with the name, or
// cannot wait for it. It returns err, or the error of the audit.
func (p *Permit) Unapproved(ctx context.Context, call *mcp.Call, name string, err error) error {
	if p.by == nil {
		return err
	}
	return p.refused(ctx, call, audit.ByApproval, name, false, err)
}

func (p *Permit) refused(ctx context.Context, call *mcp.Call, by audit.By, name string, failed bool, err error) error {
	if p.by.policy != nil {
		p.by.policy.Unconfirmed(name, failed)
	}
	return p.by.c.decided(ctx, call, p.backend, audit.Verdict{Effect: audit.Deny, By: by, Rule: name, Failed: failed}, err)
}
