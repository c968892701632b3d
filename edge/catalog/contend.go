package catalog

import (
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/ownership"
	"github.com/mcpedge/mcpedge/internal/uris"
)

// contenders returns a filter for the ranks of backends that may have the named object, in the view
// that all callers share. named is false if the request names nothing. A backend is excluded if an
// earlier one with shared lists has the name.
func (v *View) contenders(call *mcp.Call) (may func(rank int) bool, named bool) {
	if v.callsOwn(call) {
		return nil, false
	}
	if call.Backend != "" {
		return func(rank int) bool { return v.Parts[rank].Backend.Name() == call.Backend }, true
	}
	name := call.Params.Target
	if given, ok := entriesOf(v.overlay, namedBy(call.Method)).Owner(name); ok {
		return func(rank int) bool { return v.Parts[rank].Backend.Name() == given }, true
	}
	switch call.Method {
	case mcp.MethodToolsCall:
		var owner *backend.Backend
		if t := v.Tools.ByName[name]; t != nil {
			owner = t.Owner
		}
		return v.contenderFilter(v.owners.granted.Longest(name), owner, func(p *part) bool {
			return p.Catalog.HasTools && strings.HasPrefix(name, p.Backend.Prefix())
		}), true
	case mcp.MethodPromptsGet:
		var owner *backend.Backend
		if p := v.Prompts.byName[name]; p != nil {
			owner = p.Owner
		}
		return v.contenderFilter(v.owners.granted.Longest(name), owner, func(p *part) bool {
			return p.Catalog.HasPrompts && strings.HasPrefix(name, p.Backend.Prefix())
		}), true
	case mcp.MethodResourcesRead, mcp.MethodSubscribe, mcp.MethodSkillsGet, mcp.MethodDirectoryRead:
		allowed := v.owners.uris.Longest(uris.Normal(name))
		var owner *backend.Backend
		if allowed == nil { // otherwise only the grantees are called
			owner = v.listedOwner(name)
		}
		return v.contenderFilter(allowed, owner, func(p *part) bool { return p.Catalog.HasResources }), true
	}
	return nil, false
}

// namedBy returns the list whose names a method uses, or 0 for other methods.
func namedBy(m mcp.Method) listKind {
	switch m {
	case mcp.MethodToolsCall:
		return listTools
	case mcp.MethodPromptsGet:
		return listPrompts
	}
	return 0
}

// contenderFilter returns a filter for ranks. It accepts the parts that allowed permits, where nil permits
// all, and for which has is true. If the owner's lists are shared by all callers, it rejects the
// owner and the parts after it. owner may be nil.
func (v *View) contenderFilter(allowed []int, owner *backend.Backend, has func(*part) bool) func(rank int) bool {
	last := len(v.Parts)
	if i := slices.IndexFunc(v.Parts, func(p part) bool { return p.Backend == owner }); i >= 0 && !v.Parts[i].Catalog.Private {
		last = i
	}
	return func(rank int) bool {
		return rank < last && ownership.Allows(allowed, rank) && has(&v.Parts[rank])
	}
}

// listedOwner returns the backend of a URI without matching templates, or nil.
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
