package access

import (
	"encoding/json"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
)

// Approvable returns the digests of the approvals that the principal may give for the call a.
// a.Digests lists the approvals that the call waits for; those that the policy in force no longer
// has are ignored. If the policy has none of them, Approvable returns nil and no error, and the
// caller evaluates the policy for the call again.
//
// Otherwise the error, a *mcp.Error, says why the principal may give no approval. An approver must
// be a person, and not the requester.
func (c *Control) Approvable(who *mcp.Principal, a *mcp.Approval) (granted [][]byte, _ error) {
	switch {
	case !who.IsPerson():
		return nil, mcp.Errorf(mcp.KindForbidden, "only a person can approve a call: send an access token that an issuer gave to a user, "+
			"rather than an API key, a certificate or the token of a client that acts for itself")
	case who.SharesPerson(&a.Requester):
		return nil, mcp.Errorf(mcp.KindForbidden, "the call is your own, whichever client sent it: another person must approve it")
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
		return nil, mcp.Errorf(mcp.KindForbidden, "the policy cannot evaluate the arguments of the call: %w", err)
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
			c.o.Logger.Warn("the condition of an approval for its approvers cannot be evaluated, so the approver is refused", "approval", a.Names[i], "error", err)
		}
		if may {
			granted = append(granted, digest)
		}
	}
	if inForce && granted == nil {
		return nil, mcp.Errorf(mcp.KindForbidden, "by the policy, you are not an approver of this call")
	}
	return granted, nil
}

// Approves reports whether the policy has approvals, so that calls may have to wait for one.
func (x *Decider) Approves() bool { return x.policy != nil && x.policy.Approves() }

// Awaits reports whether calls of a tool may have to wait for an approval, and whether all of them
// do.
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
