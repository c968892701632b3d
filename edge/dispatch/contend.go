package dispatch

import (
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/ownership"
	"github.com/mcpedge/mcpedge/internal/uris"
)

// contenders says which backends may have what a request names, by their ranks, in the view that all callers share; named is false
// where it names nothing. A backend behind one whose lists are all callers', and which has it, has it not.
func (v *view) contenders(call *mcp.Call) (may func(rank int) bool, named bool) {
	if call.Backend != "" {
		return func(rank int) bool { return v.parts[rank].backend.Name() == call.Backend }, true
	}
	name := call.Params.Target
	switch call.Method {
	case mcp.MethodToolsCall:
		var owner *backend.Backend
		if t := v.tools.byName[name]; t != nil {
			owner = t.owner
		}
		return v.contend(v.owners.granted.Longest(name), owner, func(p *part) bool {
			return p.catalog.HasTools && strings.HasPrefix(name, p.backend.Prefix())
		}), true
	case mcp.MethodPromptsGet:
		var owner *backend.Backend
		if p := v.prompts.byName[name]; p != nil {
			owner = p.owner
		}
		return v.contend(v.owners.granted.Longest(name), owner, func(p *part) bool {
			return p.catalog.HasPrompts && strings.HasPrefix(name, p.backend.Prefix())
		}), true
	case mcp.MethodResourcesRead, mcp.MethodSubscribe, mcp.MethodSkillsGet, mcp.MethodDirectoryRead:
		allowed := v.owners.uris.Longest(uris.Normal(name))
		var owner *backend.Backend
		if allowed == nil { // else nobody else is asked anyway
			owner = v.listedOwner(name)
		}
		return v.contend(allowed, owner, func(p *part) bool { return p.catalog.HasResources }), true
	}
	return nil, false
}

// contend says which parts may have something: of those that a grant allows, which nil does for all, the ones that has says so of, up to
// that of owner, if its lists are all callers'. nil: nobody is known to have it.
func (v *view) contend(allowed []int, owner *backend.Backend, has func(*part) bool) func(rank int) bool {
	last := len(v.parts)
	if i := slices.IndexFunc(v.parts, func(p part) bool { return p.backend == owner }); i >= 0 && !v.parts[i].catalog.Private {
		last = i
	}
	return func(rank int) bool {
		return rank < last && ownership.Allows(allowed, rank) && has(&v.parts[rank])
	}
}

// listedOwner is the backend of a URI by what is found without matching templates; nil: there is none.
func (v *view) listedOwner(uri string) *backend.Backend {
	uri, _ = v.resources.spelled.of(uri)
	first := v.owners.first(uris.Normal(uri), len(v.parts), nil)
	if rank, ok := v.resources.byURI[uri]; ok {
		first = min(first, rank)
	}
	if first == len(v.parts) {
		return nil
	}
	return v.parts[first].backend
}
