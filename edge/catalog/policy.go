package catalog

import (
	"log/slog"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// completed returns the template or listed URI that a completion refers to, and its backend, or nil
// if there is none. The policy evaluates a URI with the variables that a read of it has.
func (s *resourceSet) completed(text string) (policy.Target, *backend.Backend) {
	target := policy.Target{Kind: policy.Template, Method: mcp.MethodComplete, Name: text}
	if t := s.template(text); t != nil {
		target.Name, target.Backend = t.Text, t.Owner.Name()
		return target, t.Owner
	}
	target.Name, _ = s.spelled.of(text)
	rank, ok := s.byURI[target.Name]
	if !ok {
		return target, nil
	}
	found := Located{owner: s.owners.parts[rank].Backend, Sent: target.Name, set: s}
	return found.target(mcp.MethodComplete), found.owner
}

// HintsOf returns a tool's annotations with their defaults.
func HintsOf(a *pb.ToolAnnotations) policy.Hints {
	h := policy.Hints{ReadOnly: a.GetReadOnly(), Idempotent: a.GetIdempotent(), OpenWorld: true}
	h.Destructive = !h.ReadOnly // the hint applies to tools that are not read-only
	if a != nil && a.Destructive != nil {
		h.Destructive = *a.Destructive
	}
	if a != nil && a.OpenWorld != nil {
		h.OpenWorld = *a.OpenWorld
	}
	return h
}

// Targets returns everything that the backends list now, as clients see it through an overlay, which may be nil.
func Targets(pool *backend.Pool, o *overlay.Overlay) (out []policy.Target) {
	return viewOf(pool, o).targets()
}

// ReadTarget returns the policy target of a read of a URI in any spelling, whether the URI is
// listed or matches a template. It returns false if no reachable backend serves it.
func ReadTarget(pool *backend.Pool, uri string) (policy.Target, bool) {
	v := viewOf(pool, nil)
	found, ok := v.locate(&mcp.Call{Method: mcp.MethodResourcesRead}, uri, &reporter{log: slog.New(slog.DiscardHandler)})
	if !ok || v.owners.isAway(found.owner) {
		return policy.Target{}, false
	}
	return found.target(mcp.MethodResourcesRead), true
}

// viewOf returns the current view of a pool's backends.
func viewOf(pool *backend.Pool, o *overlay.Overlay) *View {
	var parts []part
	for _, b := range pool.Backends() {
		parts = append(parts, part{Backend: b, Catalog: b.Catalog()})
	}
	return newView(parts, nil, &reporter{log: slog.New(slog.DiscardHandler)}, showing{overlay: o})
}

// targets returns everything that a view lists.
func (v *View) targets() (out []policy.Target) {
	for _, l := range []*list{v.Tools.List, v.Prompts.List, v.Resources.List, v.Resources.TemplateList, v.Resources.skillList} {
		for i := range l.Entries {
			out = append(out, l.Entries[i].target)
		}
	}
	return out
}
