package catalog

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
func (v *View) contenders(call *mcp.Call) (may func(rank int) bool, named bool) {
	if call.Backend != "" {
		return func(rank int) bool { return v.Parts[rank].Backend.Name() == call.Backend }, true
	}
	name := call.Params.Target
	switch call.Method {
	case mcp.MethodToolsCall:
		var owner *backend.Backend
		if t := v.Tools.ByName[name]; t != nil {
			owner = t.Owner
		}
		return v.contend(v.owners.granted.Longest(name), owner, func(p *part) bool {
			return p.Catalog.HasTools && strings.HasPrefix(name, p.Backend.Prefix())
		}), true
	case mcp.MethodPromptsGet:
		var owner *backend.Backend
		if p := v.Prompts.byName[name]; p != nil {
			owner = p.Owner
		}
		return v.contend(v.owners.granted.Longest(name), owner, func(p *part) bool {
			return p.Catalog.HasPrompts && strings.HasPrefix(name, p.Backend.Prefix())
		}), true
	case mcp.MethodResourcesRead, mcp.MethodSubscribe, mcp.MethodSkillsGet, mcp.MethodDirectoryRead:
		allowed := v.owners.uris.Longest(uris.Normal(name))
		var owner *backend.Backend
		if allowed == nil { // else nobody else is asked anyway
			owner = v.listedOwner(name)
		}
		return v.contend(allowed, owner, func(p *part) bool { return p.Catalog.HasResources }), true
	}
	return nil, false
}

// contend says which parts may have something: of those that a grant allows, which nil does for all, the ones that has says so of, up to
// that of owner, if its lists are all callers'. nil: nobody is known to have it.
func (v *View) contend(allowed []int, owner *backend.Backend, has func(*part) bool) func(rank int) bool {
	last := len(v.Parts)
	if i := slices.IndexFunc(v.Parts, func(p part) bool { return p.Backend == owner }); i >= 0 && !v.Parts[i].Catalog.Private {
		last = i
	}
	return func(rank int) bool {
		return rank < last && ownership.Allows(allowed, rank) && has(&v.Parts[rank])
	}
}

// listedOwner is the backend of a URI by what is found without matching templates; nil: there is none.
func (v *View) listedOwner(uri string) *backend.Backend {
	uri, _ = v.Resources.spelled.of(uri)
	first := v.owners.first(uris.Normal(uri), len(v.Parts), nil)
	if rank, ok := v.Resources.byURI[uri]; ok {
		first = min(first, rank)
	}
	if first == len(v.Parts) {
		return nil
	}
	return v.Parts[first].Backend
}
