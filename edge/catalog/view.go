package catalog

import (
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/ownership"
	"github.com/mcpedge/mcpedge/edge/translate"
)

// View is what all backends serve together, as one caller or all callers see it. It is immutable.
type View struct {
	Parts     []part // in order of precedence
	owners    *owners
	Tools     *toolSet
	Resources *resourceSet
	Prompts   *promptSet
	Features  translate.Features
	conflicts []Conflict
	Digest    mcp.Digest
	// overlay is the one that the entries are shown by.
	overlay *overlay.Overlay

	// instructions are those of all backends, for the model.
	instructions string
	// private means that some backend's lists depend on the caller, so that callers do not use this
	// view.
	private bool
	// missing means that a configured backend, or a list of one, is missing.
	missing bool
	// Filtered caches the lists as entitlements see them.
	Filtered filtered
	// failed is the reason why a backend is missing from a caller's own view. nil means that none
	// is.
	failed error
}

// part is one backend's share of a view.
type part struct {
	Backend *backend.Backend
	Catalog *backend.Catalog
	// kept are the remembered names of the lists that the catalog lacks. nil means that it lacks
	// none, or that none are remembered.
	kept *ownership.Names
	// names are those of the catalog and of kept. nil means not gathered yet.
	names *ownership.Names
}

// Incomplete reports whether a configured backend, or a list of one, is missing. Then clients must
// not cache lists, and a feature that no known backend serves may exist.
func (v *View) Incomplete() bool { return v.failed != nil || v.missing }

// catalog returns the catalog of a backend in this view.
func (v *View) catalog(b *backend.Backend) *backend.Catalog {
	for i := range v.Parts {
		if v.Parts[i].Backend == b {
			return v.Parts[i].Catalog
		}
	}
	return &backend.Catalog{}
}

// hides reports whether the overlay hides what a call names that is bound to a backend.
func (v *View) hides(kind listKind, call *mcp.Call) bool {
	entries := v.overlay.Tools()
	if kind == listPrompts {
		entries = v.overlay.Prompts()
	}
	for i := range v.Parts {
		if b := v.Parts[i].Backend; b.Name() == call.Backend {
			return entries.Hides(b.Name(), strings.TrimPrefix(call.Params.Target, b.Prefix()))
		}
	}
	return false
}

// sameParts reports whether a view was made from these catalogs.
func (v *View) sameParts(parts []part) bool {
	return slices.EqualFunc(v.Parts, parts, func(a, b part) bool {
		return a.Backend == b.Backend && a.Catalog == b.Catalog && a.kept == b.kept
	})
}

// newView merges the parts in their order. It reuses from prev, which may be nil, what has the same
// content, with its renderings and schemas. It reports conflicts.
func newView(parts []part, prev *View, report *reporter, form showing) *View {
	if prev == nil {
		prev = &View{}
	}
	m := &merge{parts: parts, report: report, showing: form, owners: newOwners(parts), sameOverlay: prev.overlay == form.overlay}
	v := &View{Parts: parts, owners: m.owners, overlay: form.overlay}
	v.Digest = mcp.Digest{
		Tools:     m.digest(listTools),
		Resources: m.digest(listResources),
		Prompts:   m.digest(listPrompts),
	}
	v.Resources = m.resources(prev.Resources, v.Digest.Resources)
	strays := m.strays(v.Resources)
	v.Digest.Tools = strays.fold(v.Digest.Tools)
	v.Tools = m.tools(prev.Tools, v.Digest.Tools, strays)
	v.Prompts = m.prompts(prev.Prompts, v.Digest.Prompts)
	v.Features = m.features()
	v.instructions = m.instructions()
	v.conflicts = slices.Concat(v.Tools.conflicts, v.Resources.conflicts, v.Prompts.conflicts, m.conflicts)
	v.missing = slices.ContainsFunc(parts, func(p part) bool { return !p.Catalog.Present || p.Catalog.Unread != 0 })
	v.private = slices.ContainsFunc(parts, func(p part) bool { return p.Catalog.Private })
	for _, c := range v.conflicts {
		report.conflict(c)
	}
	return v
}
