package dispatch

import (
	"context"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/translate"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// admitted asks those who take long whether the round may be run.
func (r *round) admitted(ctx context.Context) error {
	if r.d.opts.Access == nil {
		return nil
	}
	return r.d.opts.Access.Admit(ctx, r.rules, r.call, r.target.Backend, r.allowedBy)
}

// conceals says whether something that exists may be hidden from the caller.
func (r *round) conceals() bool {
	if r.d.opts.Access == nil {
		return false
	}
	_, listed := r.d.opts.Access.Lists(&r.call.Principal)
	return listed != nil
}

// narrow makes what a backend says of keeping an answer, which may be nil, good for the caller alone if others may be refused it.
func (r *round) narrow(hint *pb.CacheHint) {
	if hint != nil && r.d.opts.Access != nil && r.d.opts.Access.Restricts() {
		hint.Scope = pb.CacheScope_CACHE_SCOPE_PRIVATE
	}
}

// noneGiven are the arguments of what has none.
func noneGiven() (map[string]any, error) { return nil, nil }

// chosen are the arguments of a completion: those that were chosen before, and the one that is being typed.
func chosen(c *translate.Completion) policy.Arguments {
	return func() (map[string]any, error) {
		out := map[string]any{c.Argument: c.Value}
		for name, value := range c.Arguments {
			out[name] = value
		}
		return out, nil
	}
}

// toolArguments are those of tools/call or prompts/get, within bounds.
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
