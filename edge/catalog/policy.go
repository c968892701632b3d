package catalog

import (
	"log/slog"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// completed returns the policy target of the template t, or if it is nil of the listed URI, to which a
// completion refers, and its backend, which is nil if there is none. The policy evaluates a URI with the variables that a read of it has.
func (s *resourceSet) completed(text string, t *Template) (policy.Target, *backend.Backend) {
	target := policy.Target{Kind: policy.Template, Method: mcp.MethodComplete, Name: text}
	if t != nil {
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

// Listed is the policy target of an entry of a list.
type Listed struct {
	policy.Target
	// Shown are the name or URI in the list, then the aliases.
	Shown []string
	// Arguments are the arguments of a tool or prompt to which the overlay adds a value.
	Arguments []overlay.Argument
	// Trials are its pinned arguments in audit mode.
	Trials []overlay.Argument
	// Searched means that tools/list lacks the tool: find_tools of its set finds it.
	Searched bool
}

// Targets returns all objects that the backends list now, as clients of a set see them through an
// overlay. Both may be nil; without a set it is the root.
func Targets(pool *backend.Pool, o *overlay.Overlay, set *overlay.Set) []Listed {
	return viewOf(pool, o, set).targets()
}

// ReadTarget returns the policy target of a read of a URI in any spelling, whether the URI is
// listed or matches a template. It returns false if no reachable backend serves the URI, if the
// overlay hides it, if the set does not have it, or if it does not exist for the caller. Overlay and
// set may be nil.
func ReadTarget(pool *backend.Pool, o *overlay.Overlay, set *overlay.Set, who *mcp.Principal, uri string) (policy.Target, bool) {
	v := viewOf(pool, o, set)
	found, ok := v.locate(&mcp.Call{Method: mcp.MethodResourcesRead, Principal: *who}, uri, &reporter{log: slog.New(slog.DiscardHandler)})
	if !ok || v.owners.isAway(found.owner) {
		return policy.Target{}, false
	}
	target := found.target(mcp.MethodResourcesRead)
	if set != nil {
		target.Set = set.Name
	}
	return target, true
}

// viewOf returns the current view of a pool's backends, or of a set, which may be nil.
func viewOf(pool *backend.Pool, o *overlay.Overlay, set *overlay.Set) *View {
	var parts []part
	for _, b := range pool.Backends() {
		parts = append(parts, part{Backend: b, Catalog: b.Catalog()})
	}
	silent := &reporter{log: slog.New(slog.DiscardHandler)}
	v := newView(parts, nil, silent, showOptions{overlay: o})
	if set != nil {
		v = v.narrow(set, &viewOptions{report: silent})
	}
	return v
}

// targets returns all objects that a view lists or finds.
func (v *View) targets() (out []Listed) {
	inList := make(map[*entry]bool)
	for _, e := range v.listedTools().Entries {
		inList[e] = true
	}
	for _, l := range []*list{v.Tools.List, v.Prompts.List, v.Resources.List, v.Resources.TemplateList, v.Resources.skillList} {
		for _, e := range l.Entries {
			one := Listed{Target: e.target, Shown: append([]string{e.key}, e.aliases...)}
			switch l.kind {
			case listTools:
				t := v.Tools.ByName[e.key]
				one.Arguments, one.Trials = t.Arguments, t.Trials
				one.Searched = !inList[e]
			case listPrompts:
				x := v.Prompts.byName[e.key]
				one.Arguments, one.Trials = x.Arguments, x.Trials
			}
			out = append(out, one)
		}
	}
	return out
}
