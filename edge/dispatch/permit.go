package dispatch

import (
	"context"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/translate"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// authorize runs the second stage of the decision on the round, which may block.
func (r *round) authorize(ctx context.Context) error {
	if r.d.opts.Access == nil {
		return nil
	}
	return r.d.opts.Access.Admit(ctx, r.rules, r.call, r.target.Backend, r.allowedBy)
}

// conceals reports whether an existing object may be hidden from the caller.
func (r *round) conceals() bool {
	if r.d.opts.Access == nil {
		return false
	}
	_, listed := r.d.opts.Access.Lists(&r.call.Principal)
	return listed != nil
}

// narrow makes a cache hint, which may be nil, private to the caller if other callers may be denied the answer.
func (r *round) narrow(hint *pb.CacheHint) {
	if hint != nil && r.d.opts.Access != nil && r.d.opts.Access.Restricts() {
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
		return nil, mcp.Errorf(mcp.KindInvalidParams, "params.arguments cannot be judged: %v", err)
	}
	return out, nil
}
