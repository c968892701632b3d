package dispatch

import (
	"slices"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/ownership"
	"github.com/mcpedge/mcpedge/edge/translate"
)

// view is what all backends serve together, as one caller sees it, or all callers. Immutable.
type view struct {
	parts     []part // in the order in which they win over each other
	owners    *owners
	tools     *toolSet
	resources *resourceSet
	prompts   *promptSet
	features  translate.Features
	conflicts []Conflict
	digest    mcp.Digest

	// instructions for the model, of all backends.
	instructions string
	// private: some backend's lists depend on the caller, so this view is no answer to one.
	private bool
	// missing: a configured backend, or a list of one, is not there.
	missing bool
	// filtered are the lists as entitlements see them.
	filtered filtered
	// failed is why a backend's part is missing from a caller's own view; nil: nothing is.
	failed error
}

// part is one backend's share of a view.
type part struct {
	backend *backend.Backend
	catalog *backend.Catalog
	// kept is what is remembered of the lists that the catalog does not have; nil: it has all, or nothing is.
	kept *ownership.Names
	// names are those of the catalog and of kept; nil: not gathered yet.
	names *ownership.Names
}

// incomplete reports whether a configured backend, or a list of one, is missing: clients must then not cache lists,
// and a feature that no known backend serves may exist.
func (v *view) incomplete() bool { return v.failed != nil || v.missing }

// catalog is the catalog that a backend has in this view.
func (v *view) catalog(b *backend.Backend) *backend.Catalog {
	for i := range v.parts {
		if v.parts[i].backend == b {
			return v.parts[i].catalog
		}
	}
	return &backend.Catalog{}
}

// sameParts reports whether a view was made of these catalogs.
func (v *view) sameParts(parts []part) bool {
	return slices.EqualFunc(v.parts, parts, func(a, b part) bool {
		return a.backend == b.backend && a.catalog == b.catalog && a.kept == b.kept
	})
}

// newView merges the parts, in their order. What prev, which may be nil, holds for the same content is
// taken over, with its renderings and schemas. The report hears of conflicts.
func newView(parts []part, prev *view, report *reporter, form showing) *view {
	if prev == nil {
		prev = &view{}
	}
	m := &merge{parts: parts, report: report, showing: form, owners: newOwners(parts)}
	v := &view{parts: parts, owners: m.owners}
	v.digest = mcp.Digest{
		Tools:     m.digest(listTools),
		Resources: m.digest(listResources),
		Prompts:   m.digest(listPrompts),
	}
	v.resources = m.resources(prev.resources, v.digest.Resources)
	strays := m.strays(v.resources)
	v.digest.Tools = strays.fold(v.digest.Tools)
	v.tools = m.tools(prev.tools, v.digest.Tools, strays)
	v.prompts = m.prompts(prev.prompts, v.digest.Prompts)
	v.features = m.features()
	v.instructions = m.instructions()
	v.conflicts = slices.Concat(v.tools.conflicts, v.resources.conflicts, v.prompts.conflicts, m.conflicts)
	v.missing = slices.ContainsFunc(parts, func(p part) bool { return !p.catalog.Present || p.catalog.Unread != 0 })
	v.private = slices.ContainsFunc(parts, func(p part) bool { return p.catalog.Private })
	for _, c := range v.conflicts {
		report.conflict(c)
	}
	return v
}
