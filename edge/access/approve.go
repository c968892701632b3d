package access

import (
	"encoding/json"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
)

// Approvable returns the digests of those approvals, of what a call waits for, that a principal may give by the policy in force. The error, a
// *mcp.Error, says why it may give none of them. If none of what the call waits for is in force any more, both are nil: the call is then
// decided on again.
//
// An approver is a person, and another one than the requester.
func (c *Control) Approvable(who *mcp.Principal, a *mcp.Approval) (granted [][]byte, _ error) {
	switch {
	case !who.IsPerson():
		return nil, mcp.Errorf(mcp.KindForbidden, "only a person can approve a call: send an access token that an issuer gave to a user, "+
			"rather than an API key, a certificate or the token of a client that acts for itself")
	case who.SharesPerson(&a.Requester):
		return nil, mcp.Errorf(mcp.KindForbidden, "the call is your own, by whatever client: another person must approve it")
	}
	p := c.Policy()
	if p == nil {
		return nil, nil
	}
	t := policy.Target{
		Kind: policy.Tool, Method: mcp.MethodToolsCall, Name: a.Tool, Backend: a.Backend, Set: a.Set,
		Hints: policy.Hints{ReadOnly: a.ReadOnly, Destructive: a.Destructive, Idempotent: a.Idempotent, OpenWorld: a.OpenWorld},
	}
	args, err := argumentsOf(a.Arguments)
	if err != nil {
		return nil, mcp.Errorf(mcp.KindForbidden, "the arguments of the call cannot be judged: %w", err)
	}
	inForce := false
	for i, digest := range a.Digests {
		o, ok := p.Approval(digest)
		if !ok {
			continue
		}
		inForce = true
		may, err := o.Approves(who, &t, args)
		if err != nil {
			c.o.Logger.Warn("the approvers of an approval cannot be evaluated, which refuses the approver", "approval", a.Names[i], "error", err)
		}
		if may {
			granted = append(granted, digest)
		}
	}
	if inForce && granted == nil {
		return nil, mcp.Errorf(mcp.KindForbidden, "the policy does not have you among the approvers of this call")
	}
	return granted, nil
}

// Approves reports whether calls may have to wait for an approval.
func (x *Decider) Approves() bool { return x.policy != nil && x.policy.Approves() }

// Awaits reports whether calls of a tool may have to wait for an approval, and whether they always do.
func (x *Decider) Awaits(t *policy.Target) (may, always bool) {
	if x.policy == nil {
		return false, false
	}
	return x.policy.Awaits(t)
}

func argumentsOf(raw json.RawMessage) (map[string]any, error) {
	if len(raw) == 0 {
		return map[string]any{}, nil
	}
	return policy.DecodeObject(raw)
}
