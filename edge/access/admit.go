package access

import (
	"context"
	"errors"

	"github.com/mcpedge/mcpedge/edge/audit"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/quota"
	"github.com/mcpedge/mcpedge/edge/revision"
)

// continued reports whether a round belongs to a call of a session, or to a task, that has begun: that is charged once.
func continued(rules *revision.Rules, call *mcp.Call) bool {
	return call.Begun && (!rules.Stateless || call.Task != nil)
}

// Charge charges the quotas for a round of a call of the tool call.Tool. It returns nil if the call is allowed. If a
// quota is exhausted, it returns a *mcp.Error of KindLimit with the time of the retry.
//
// A call of a session, and a task, is charged once, with its first round, also if that is retried after the loss of its
// replica. Any other call is charged in each round, because each is a request of its own, which a client can repeat
// without bound.
func (x *Decider) Charge(ctx context.Context, rules *revision.Rules, call *mcp.Call, backend string) error {
	c := x.c
	if c.o.Quotas == nil || continued(rules, call) {
		return nil
	}
	tool, _ := call.Tool()
	err := c.o.Quotas.Spend(ctx, &quota.Call{Principal: call.Principal, From: call.From, Tool: tool, Backend: backend, Set: call.Set})
	var refused *quota.Refused
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return c.decided(ctx, call, backend, audit.Verdict{Effect: audit.Deny, By: audit.ByQuota, Rule: refused.Rule},
			&mcp.Error{Kind: mcp.KindLimit, Message: err.Error(), RetryAfter: refused.Wait, Err: err})
	}
	return mcp.Errorf(mcp.KindCancelled, "the call ended before its quota was known: %w", err)
}

// Allowed records that a call of the tool call.Tool is allowed: by the policy's rule, the result of Decide, or if that is empty by another
// component. It returns nil or the error of the audit.
//
// A call of a session, and a task, is recorded once, with its first round, and once more if that is retried after the loss of its replica;
// any other call in each round. A round that asks for a confirmation is not recorded. So a round is that was confirmed,
// or that follows one which asked, and requires no confirmation any more: it is lapsed.
func (x *Decider) Allowed(ctx context.Context, rules *revision.Rules, call *mcp.Call, backend, rule string, confirmed, lapsed bool) error {
	again := continued(rules, call)
	if again && !confirmed && !lapsed && (call.Round > 1 || call.Attempt == 1) {
		return nil
	}
	v := audit.Verdict{Effect: audit.Allow}
	switch {
	case rule != "":
		v.By, v.Rule = audit.ByPolicy, rule
	case confirmed:
		v.By = audit.ByConfirmation
	case x.c.o.Quotas != nil && !again:
		v.By = audit.ByQuota
	}
	return x.c.decided(ctx, call, backend, v, nil)
}

// Obliges reports whether Obligations may return confirmations.
func (x *Decider) Obliges() bool { return x.policy != nil && x.policy.Obliges() }

// Obligations returns the confirmations that a call requires which Decide allows. The error is a *mcp.Error or the error of args.
func (x *Decider) Obligations(ctx context.Context, call *mcp.Call, t *policy.Target, args policy.Arguments) ([]policy.Obligation, error) {
	if x.policy == nil {
		return nil, nil
	}
	list, failed, err := x.policy.Obligations(&call.Principal, t, args)
	if failed == nil {
		return list, err
	}
	x.report(call, t.Name, failed)
	denied := mcp.Errorf(mcp.KindForbidden, "forbidden by the confirmation %q of the policy", failed.Rule)
	denied.Reason = "the condition of the confirmation could not be evaluated, which denies"
	return nil, x.unconfirmed(ctx, call, t.Backend, failed.Rule, true, denied)
}

// Unconfirmed records that a call is refused because the user did not give the confirmation of a name, or could
// not be asked. It returns err, or the error of the audit.
func (x *Decider) Unconfirmed(ctx context.Context, call *mcp.Call, backend, name string, err error) error {
	return x.unconfirmed(ctx, call, backend, name, false, err)
}

func (x *Decider) unconfirmed(ctx context.Context, call *mcp.Call, backend, name string, failed bool, err error) error {
	if x.policy != nil {
		x.policy.Unconfirmed(name, failed)
	}
	return x.c.decided(ctx, call, backend, audit.Verdict{Effect: audit.Deny, By: audit.ByConfirmation, Rule: name, Failed: failed}, err)
}
