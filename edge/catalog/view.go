package catalog

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/catalog/disabled"
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
	// overlay is the one that the entries are shown by, and access decides who sees them. Both are of
	// one generation of settings, as is all that is resolved in the view. nil access shows all.
	overlay *overlay.Overlay
	access  Visibility
	// locked is how the tools differ from the overlay's lock.
	locked *locked
	// skills are the skills of each backend that entries of the overlay match.
	skills map[*backend.Backend]overlaidSkills
	// pages are those of the shown tools. nil if the overlay shows URIs by default.
	pages map[ownedPage]bool
	// sets are the parts of the view that Narrowed caches, of the same generation. nil has none.
	sets *overlay.Sets
	// disabled is what operators have disabled: it is not listed, and Target.Disabled refuses it. nil if nothing is.
	disabled *disabled.List
	// refused is disabled with canonical names.
	refused *disabled.List
	// enabled is the view without disabled. nil if disabled is, and in sets.
	enabled *View

	// instructions are those of all backends, for the model.
	instructions string
	// private means that some backend's lists depend on the caller, so that callers do not use this
	// view.
	private bool
	// missing means that a configured backend, or a list of one, is missing.
	missing bool
	// Filtered caches the lists as entitlements see them.
	Filtered filtered
	// Narrowed caches the views of sets.
	Narrowed narrowedViews
	// whole is the view of which this one is a part, for the members of set. Both are nil for a
	// whole view.
	whole *View
	set   *overlay.Set
	// search is what the set has in place of a list of its tools. nil for a view without search.
	search *searching
	// members decides which URIs are members of set. nil for a whole view.
	members *resourceMembers
	// server renders the edge's description with the title of the set. nil means the edge's own.
	server *translate.Server
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

// incomplete reports whether the backend, or a list of it, is missing.
func (p part) incomplete() bool { return !p.Catalog.Present || p.Catalog.Unread != 0 }

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

// hides reports whether the overlay or its lock hides what a bound call names, or the view's set lacks it.
func (v *View) hides(kind listKind, call *mcp.Call) bool {
	for i := range v.Parts {
		b := v.Parts[i].Backend
		if b.Name() != call.Backend {
			continue
		}
		if v.excludesName(b, kind, call.Params.Target) || v.locked.hides(kind, b, strings.TrimPrefix(call.Params.Target, b.Prefix())) {
			return true
		}
	}
	return v.changeOf(kind, call).Hide
}

// shownName returns the name by which clients see what a call names that is bound to a backend.
func (v *View) shownName(call *mcp.Call) string {
	return cmp.Or(v.changeOf(namedBy(call.Method), call).Name, call.Params.Target)
}

// changeOf returns what the overlay changes of what a call names that is bound to a backend.
func (v *View) changeOf(kind listKind, call *mcp.Call) overlay.Entry {
	for i := range v.Parts {
		if b := v.Parts[i].Backend; b.Name() == call.Backend {
			return entriesOf(v.overlay, kind).Of(b.Name(), strings.TrimPrefix(call.Params.Target, b.Prefix()))
		}
	}
	return overlay.Entry{}
}

// sameParts reports whether a view was made from these catalogs.
func (v *View) sameParts(parts []part) bool {
	return slices.EqualFunc(v.Parts, parts, func(a, b part) bool {
		return a.Backend == b.Backend && a.Catalog == b.Catalog && a.kept == b.kept
	})
}

// shows reports whether a view was made with the same settings.
func (v *View) shows(form showing) bool {
	return v.overlay == form.overlay && v.access == form.access && v.sets == form.sets && v.disabled == form.disabled
}

// showing returns what a view was made with. work is that of showing.
func (v *View) showing(work int) showing {
	return showing{overlay: v.overlay, access: v.access, sets: v.sets, disabled: v.disabled, work: work}
}

// newView merges the parts in their order, without what is disabled. It reuses from prev, which may be nil, what has the
// same content, with its renderings and schemas. It reports conflicts.
func newView(parts []part, prev *View, report *reporter, form showing) *View {
	switch {
	case prev == nil:
		prev = &View{}
	case prev.enabled != nil:
		prev = prev.enabled
	}
	v := mergedView(parts, prev, report, form)
	if form.disabled == nil {
		return v
	}
	return v.without(form.disabled)
}

// mergedView is newView with the lists of what is disabled.
func mergedView(parts []part, prev *View, report *reporter, form showing) *View {
	m := &merge{parts: parts, report: report, showing: form, owners: newOwners(parts), sameOverlay: prev.overlay == form.overlay}
	m.sameBackends = slices.EqualFunc(prev.Parts, parts, func(a, b part) bool { return a.Backend == b.Backend })
	m.skillsBy = m.skillsByOverlay()
	m.locked = m.compareLocked(prev.locked)
	v := &View{Parts: parts, owners: m.owners, overlay: form.overlay, access: form.access, locked: m.locked, skills: m.skillsBy, sets: form.sets}
	v.Digest = mcp.Digest{
		Tools:     m.digest(listTools),
		Resources: m.digest(listResources),
		Prompts:   m.digest(listPrompts),
	}
	v.Resources = m.resources(prev.Resources, v.Digest.Resources)
	strays := m.strays(v.Resources)
	v.Digest.Tools = strays.fold(v.Digest.Tools)
	v.Tools = m.tools(prev.Tools, v.Digest.Tools, strays)
	if form.overlay.Resources().HidesOthers() {
		v.pages = v.Tools.pages()
	}
	v.Prompts = m.prompts(prev.Prompts, v.Digest.Prompts)
	v.Features = m.features()
	v.instructions = m.instructions()
	v.conflicts = slices.Concat(v.Tools.conflicts, v.Resources.conflicts, v.Prompts.conflicts, m.conflicts)
	v.missing = slices.ContainsFunc(parts, part.incomplete)
	v.private = slices.ContainsFunc(parts, func(p part) bool { return p.Catalog.Private })
	for _, c := range v.conflicts {
		report.conflict(c)
	}
	return v
}
