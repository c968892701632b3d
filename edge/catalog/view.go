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
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/translate"
)

// View has the merged lists of all backends, as one caller or all callers see them. It is
// immutable.
type View struct {
	Parts     []part // in order of precedence
	owners    *owners
	Tools     *toolSet
	Resources *resourceSet
	Prompts   *promptSet
	Features  translate.Features
	conflicts []Conflict
	// overlay is the one that the entries are shown by, and access decides who sees them. Both are of
	// one generation of settings, as is all that is resolved in the view. nil access shows all.
	overlay *overlay.Overlay
	access  Visibility
	// lockDiffs has the differences of the tools from the overlay's lock.
	lockDiffs *lockDifferences
	// unmatched are the entries of the overlay and of sets that should restrict something but match
	// nothing. Only the view that all callers share has them.
	unmatched []problem
	// skills are the skills of each backend that entries of the overlay match.
	skills map[*backend.Backend]overlaidSkills
	// pages are those of the shown tools. nil if the overlay shows URIs by default.
	pages map[ownedPage]bool
	// sets are the parts of the view that Narrowed caches, of the same generation. nil has none.
	sets *overlay.Sets
	// disabled lists the disabled objects. nil means none. Their names and URIs still resolve to
	// them, so that no other backend gets these. visibleTo does not list them, and Target.Disabled
	// refuses requests for them.
	disabled *disabled.List
	// refused is disabled with canonical names.
	refused *disabled.List

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
	// whole is the view of which this one is a part. set selects the members. Both are nil for a
	// whole view.
	whole *View
	set   *overlay.Set
	// inSet has the policy targets of set's entries by those of the tools and prompts that they show.
	inSet map[*policy.Target]*policy.Target
	// listed is what tools/list shows of a set with some of the edge's own tools. nil means Tools.List.
	listed *list
	// search is what searches of the set need. nil for a view without search.
	search *searching
	// members decides which URIs are members of set. nil for a whole view.
	members *resourceMembers
	// server renders the edge's description with the title of the set. nil means the edge's own.
	server *translate.Server
	// failed is the reason for which a backend is missing from a caller's own view. nil means that
	// none is missing.
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

// bound returns the backend to which a call is bound, and the backend's own name of the target. b
// is nil if there is no such backend.
func (v *View) bound(call *mcp.Call) (b *backend.Backend, name string) {
	for i := range v.Parts {
		if b := v.Parts[i].Backend; b.Name() == call.Backend {
			return b, strings.TrimPrefix(call.Params.Target, b.Prefix())
		}
	}
	return nil, ""
}

// hides reports whether the target of a bound call is hidden, or not in the view's set.
func (v *View) hides(kind listKind, call *mcp.Call) bool {
	b, name := v.bound(call)
	return b != nil && (v.excludesName(b, kind, name) || changeOf(v.overlay, v.lockDiffs, kind, b, name).Hide)
}

// shownName returns the shown name of the target of a bound call.
func (v *View) shownName(call *mcp.Call) string {
	shown := ""
	if b, name := v.bound(call); b != nil {
		shown = changeOf(v.overlay, v.lockDiffs, namedBy(call.Method), b, name).Name
	}
	return cmp.Or(shown, call.Params.Target)
}

// sameParts reports whether a view was made from these catalogs.
func (v *View) sameParts(parts []part) bool {
	return slices.EqualFunc(v.Parts, parts, func(a, b part) bool {
		return a.Backend == b.Backend && a.Catalog == b.Catalog && a.kept == b.kept
	})
}

// shows reports whether a view was made with the same settings.
func (v *View) shows(form showOptions) bool {
	return v.overlay == form.overlay && v.access == form.access && v.sets == form.sets && v.disabled == form.disabled
}

// showOptions returns the options with which the view was made, with the given work.
func (v *View) showOptions(work int) showOptions {
	return showOptions{overlay: v.overlay, access: v.access, sets: v.sets, disabled: v.disabled, work: work}
}

// newView merges the parts in their order, and reports conflicts. It reuses objects of prev that
// have the same content, with their renderings and schemas. prev may be nil.
func newView(parts []part, prev *View, report *reporter, form showOptions) *View {
	if prev == nil {
		prev = &View{}
	}
	m := &merge{parts: parts, report: report, showing: form, owners: newOwners(parts), sameOverlay: prev.overlay == form.overlay}
	m.sameBackends = slices.EqualFunc(prev.Parts, parts, func(a, b part) bool { return a.Backend == b.Backend })
	m.sameApprovals = prev.access == form.access || approves(prev.access) == nil && approves(form.access) == nil
	m.skillsBy = m.skillsByOverlay()
	m.lockDiffs = m.compareLocked(prev.lockDiffs)
	v := &View{Parts: parts, owners: m.owners, overlay: form.overlay, access: form.access, lockDiffs: m.lockDiffs, skills: m.skillsBy, sets: form.sets, disabled: form.disabled}
	v.refused = form.disabled.Prefixed(v.prefix)
	v.Resources = m.resources(prev.Resources, m.digest(listResources))
	strays := m.foreignPages(v.Resources)
	v.Tools = m.tools(prev.Tools, strays.fold(m.digest(listTools)), strays)
	if form.overlay.Resources().HidesOthers() {
		v.pages = v.Tools.pages()
	}
	v.Prompts = m.prompts(prev.Prompts, m.digest(listPrompts))
	v.Features = m.features()
	v.instructions = m.instructions()
	v.conflicts = slices.Concat(v.Tools.conflicts, v.Resources.conflicts, v.Prompts.conflicts, m.conflicts)
	v.missing = slices.ContainsFunc(parts, func(p part) bool { // Lists of a disabled backend are not read for callers.
		return p.incomplete() && !form.disabled.HasBackend(p.Backend.Name())
	})
	v.private = slices.ContainsFunc(parts, func(p part) bool { return p.Catalog.Private })
	for _, c := range v.conflicts {
		report.conflict(c)
	}
	return v
}
