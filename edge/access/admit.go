package access

import (
	"cmp"
	"context"
	"errors"

	"github.com/mcpedge/mcpedge/edge/audit"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/quota"
	"github.com/mcpedge/mcpedge/edge/revision"
)

// admitTool charges the quotas for a round of a call of the tool call.Tool. It returns nil
// if the call is allowed. If a quota is exhausted, it returns a *mcp.Error of KindLimit with the
// time of the retry.
//
// A call of a session, and a task, is charged and recorded once, with its first round. If that
// round is retried after the loss of its replica, it is recorded again and not charged. Any other
// call is charged in each round, because each is a request of its own, which a client can repeat
// without bound. A round that asks for a confirmation is charged, and not recorded as allowed: a round after it that
// requires none any more is recorded.
func (c *Control) admitTool(ctx context.Context, rules *revision.Rules, call *mcp.Call, backend, rule string, consent policy.Consent) error {
	again := call.Begun && (!rules.Stateless || call.Task != nil)
	if again && consent != policy.Lapsed && (call.Round > 1 || call.Attempt == 1) {
		return nil
	}
	allowed := func(by audit.By) error {
		if consent == policy.Asking {
			return nil
		}
		return c.allowed(ctx, call, backend, rule, by)
	}
	if again || c.o.Quotas == nil {
		return allowed("")
	}
	if err := c.charge(ctx, call, backend); err != nil {
		return err
	}
	return allowed(audit.ByQuota)
}

// charge charges the quotas for a call of the tool call.Tool. It returns nil or, as admitTool, a *mcp.Error.
func (c *Control) charge(ctx context.Context, call *mcp.Call, backend string) error {
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

// allowed records that a call is allowed: by the policy's rule or, if it is empty, by another component.
func (c *Control) allowed(ctx context.Context, call *mcp.Call, backend, rule string, by audit.By) error {
	v := audit.Verdict{Effect: audit.Allow}
	if rule != "" {
		v.By, v.Rule = audit.ByPolicy, rule
	}
	v.By = cmp.Or(v.By, by)
	return c.decided(ctx, call, backend, v, nil)
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

// Charge charges the quotas for a round that was not charged because it had an answer, and in which the call did not
// run: a client can send it again without bound. It returns nil, or a *mcp.Error if a quota is exhausted. A call of
// a session, and a task, is charged once.
func (x *Decider) Charge(ctx context.Context, rules *revision.Rules, call *mcp.Call, backend string) error {
	if x.c.o.Quotas == nil || call.Begun && (!rules.Stateless || call.Task != nil) {
		return nil
	}
	return x.c.charge(ctx, call, backend)
}

// Confirmed records that a call is allowed which the user has confirmed. rule is the result of Decide. It returns nil or the error of the
// audit.
func (x *Decider) Confirmed(ctx context.Context, call *mcp.Call, backend, rule string) error {
	return x.c.allowed(ctx, call, backend, rule, audit.ByConfirmation)
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
