package dispatch

import (
	"context"
	"log/slog"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/translate"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// admitted asks those who take long whether the round may be run: of what belongs to a backend; empty: of what does not exist.
func (r *round) admitted(ctx context.Context, backend string) error {
	if r.d.opts.Access == nil {
		return nil
	}
	return r.d.opts.Access.Admit(ctx, r.rules, r.call, backend)
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

// completed is what a completion is about: a template, or a plain URI, which has no variables.
func (s *resourceSet) completed(text string) (policy.Target, bool) {
	target := policy.Target{Kind: policy.Template, Method: mcp.MethodComplete, Name: text}
	if t := s.template(text); t != nil {
		target.Name, target.Backend = t.text, t.owner.Name()
		return target, true
	}
	target.Name, _ = s.spelled.of(text)
	rank, ok := s.byURI[target.Name]
	if !ok {
		return target, false
	}
	target.Kind, target.Backend = policy.Resource, s.owners.parts[rank].backend.Name()
	return target, true
}

// hintsOf are a tool's annotations.
func hintsOf(a *pb.ToolAnnotations) policy.Hints {
	h := policy.Hints{ReadOnly: a.GetReadOnly(), Idempotent: a.GetIdempotent(), OpenWorld: true}
	h.Destructive = !h.ReadOnly // the hint is about tools that are not read-only
	if a != nil && a.Destructive != nil {
		h.Destructive = *a.Destructive
	}
	if a != nil && a.OpenWorld != nil {
		h.OpenWorld = *a.OpenWorld
	}
	return h
}

// noneGiven are the arguments of what has none.
func noneGiven() (map[string]any, error) { return nil, nil }

// chosen are the arguments of a completion: those that were chosen before, and the one that is being typed.
func chosen(c *translate.Completion) policy.Arguments {
	return func() (map[string]any, error) {
		out := map[string]any{c.Argument: c.Value}
		for name, value := range c.Arguments {
			if name != c.Argument {
				out[name] = value
			}
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

// Targets are all that the backends list now, as clients see it.
func Targets(pool *backend.Pool) (out []policy.Target) {
	var parts []part
	for _, b := range pool.Backends() {
		parts = append(parts, part{backend: b, catalog: b.Catalog()})
	}
	return newView(parts, nil, &reporter{log: slog.New(slog.DiscardHandler)}, showing{}).targets()
}

// targets are all that a view lists.
func (v *view) targets() (out []policy.Target) {
	for _, l := range []*list{v.tools.list, v.prompts.list, v.resources.list, v.resources.templateList, v.resources.skillList} {
		for i := range l.entries {
			out = append(out, l.entries[i].target)
		}
	}
	return out
}
