package dispatch

import (
	"context"
	"errors"

	"github.com/mcpedge/mcpedge/edge/access"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/telemetry"
	"github.com/mcpedge/mcpedge/edge/translate"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// authorize runs the later stages of the decision on a round that is not a call of a backend's
// tool. It may block.
func (r *round) authorize(ctx context.Context) error {
	if err := r.askPolicyServer(ctx); err != nil {
		return err
	}
	return r.chargeAndAllow(ctx)
}

// chargeAndAllow charges the quotas for a round that is not a call of a backend's tool, and records
// that it is allowed. Both apply only to calls of the edge's own tools, and to calls that were made
// through one.
func (r *round) chargeAndAllow(ctx context.Context) error {
	if err := r.allowed.Charge(ctx, r.call); err != nil {
		return err
	}
	return r.allowed.Allow(ctx, r.call, access.Granted{}, false)
}

// askPolicyServer asks the policy server about what rules and scopes allow.
func (r *round) askPolicyServer(ctx context.Context) error {
	err := r.allowed.Ask(ctx, r.call)
	for errors.Is(err, policy.ErrReplaced) {
		if err = r.decideAgain(ctx); err == nil {
			err = r.allowed.Ask(ctx, r.call)
		}
	}
	return err
}

// chargeUnused charges the quotas for a round with an answer that was not used and whose call did
// not run. Otherwise a client could send the answer without bound. It returns err, or the error of
// the quotas.
func (r *round) chargeUnused(ctx context.Context, err error) error {
	if !r.spent {
		if over := r.allowed.Charge(ctx, r.call); over != nil {
			return over
		}
	}
	return err
}

// allow records that the call is allowed, with its confirmations and approvals.
func (r *round) allow(ctx context.Context) error {
	var had access.Granted
	for _, a := range r.holds.Approved {
		had.Approved = append(had.Approved, mcp.Approved{Name: a.Name, By: a.By})
	}
	for i := range r.holds.Has {
		c := mcp.Confirmed{Name: r.holds.Has[i].Name, How: mcp.ConfirmedByAnswer}
		if r.holds.Has[i].Remembered {
			c.How = mcp.ConfirmedBefore
			if r.state != consentHeld { // Otherwise an earlier round was counted.
				r.d.opts.Telemetry.Confirmation(c.Name, telemetry.ConfirmationRemembered)
			}
		}
		had.Confirmed = append(had.Confirmed, c)
	}
	if r.state == consentAccepted {
		r.countConsents(telemetry.ConfirmationAccepted, r.before.asksFor())
	}
	from := r.before.state()
	return r.allowed.Allow(ctx, r.call, had, from == consentAwaits || from == consentAsks || r.state == consentRemembered)
}

// decider returns what decides about the round. nil allows it.
func (r *round) decider() *access.Decider {
	decider, _ := r.named.Access.(*access.Decider)
	return decider
}

// decideAgain decides on the round again, by the rules in force: those by which it was resolved
// were replaced, and their policy server is gone. It must not run if the catalog was changed with
// the rules, because rules are written for the arguments that the catalog sends.
func (r *round) decideAgain(ctx context.Context) error {
	now := r.d.opts.Access() // before the catalog is compared, which is exchanged first
	if !r.named.Current(r.d.catalog) {
		return settingsChanged()
	}
	r.named.Access = now
	if r.named.Backend == nil {
		r.permitUndecided(ctx)
		return nil
	}
	return r.applyRules(ctx)
}

// applyRules applies rules and scopes to the round, and determines the confirmations that it
// requires.
func (r *round) applyRules(ctx context.Context) error {
	if err := r.decide(ctx); err != nil {
		return err
	}
	return r.findRequirements(ctx)
}

// permitUndecided gives the round the permit of one that rules and scopes do not decide.
func (r *round) permitUndecided(ctx context.Context) {
	if decider := r.decider(); decider != nil {
		r.allowed, _ = decider.Decide(ctx, r.rules, r.call, nil, nil) // cannot fail
	}
}

// settingsChanged returns the error for a request that spans two generations of settings.
func settingsChanged() error {
	return mcp.Errorf(mcp.KindUnavailable, "the settings of the server have changed during the request; send it again")
}

// conceals reports whether an existing object may be hidden from the caller.
func (r *round) conceals() bool {
	decider := r.decider()
	if decider == nil {
		return false
	}
	_, listed := decider.Lists(&r.call.Principal)
	return listed != nil
}

// restrictHint makes a cache hint, which may be nil, private to the caller if other callers may be denied
// the answer or may not use the set, also by pinned variables.
func (r *round) restrictHint(hint *pb.CacheHint) {
	if decider := r.decider(); hint != nil && (r.named.Private() || r.named.DependsOnCaller() || decider != nil && decider.Restricts()) {
		hint.Scope = pb.CacheScope_CACHE_SCOPE_PRIVATE
	}
}

// noneGiven returns the arguments of a request that has none.
func noneGiven() (map[string]any, error) { return nil, nil }

// chosen returns the arguments of a completion: those already chosen, and the one being completed.
func chosen(c *translate.Completion) policy.Arguments {
	return func() (map[string]any, error) {
		out := map[string]any{c.Argument: c.Value}
		for name, value := range c.Arguments {
			out[name] = value
		}
		return out, nil
	}
}

// toolArguments returns the arguments of tools/call or prompts/get, within bounds.
func (r *round) toolArguments() (map[string]any, error) {
	raw, err := r.arguments()
	if err != nil {
		return nil, err
	}
	out, err := policy.DecodeObject(raw)
	if err != nil {
		return nil, mcp.Errorf(mcp.KindInvalidParams, "params.arguments cannot be evaluated by the policy: %v", err)
	}
	return out, nil
}
