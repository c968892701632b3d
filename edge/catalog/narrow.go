package catalog

import (
	"slices"
	"strings"
	"sync"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/translate"
)

// narrowedViews caches the views of sets that are made of one view, each at its first use. It has at
// most one for each name of a set. The zero value is empty. It is safe for concurrent use.
type narrowedViews struct {
	byName sync.Map // of func() *View
}

// noSet is the set that a view has in place of one that does not exist any more. It has no members.
var noSet = &overlay.Set{Private: true}

// in returns the part of a view that a set has. An empty name means the whole view.
func (v *View) in(name string, c *viewOptions) *View {
	if name == "" {
		return v
	}
	var set *overlay.Set
	if v.sets != nil {
		set = (*v.sets)[name]
	}
	if set == nil {
		set = noSet
	}
	made, known := v.Narrowed.byName.Load(set.Name)
	if !known {
		of := set // Each call would allocate for a variable that the closure shares.
		made, _ = v.Narrowed.byName.LoadOrStore(set.Name, sync.OnceValue(func() *View { return v.narrow(of, c) }))
	}
	return made.(func() *View)()
}

// viewOptions are what views of sets are made with.
type viewOptions struct {
	report *reporter
	// server returns the renderer of the edge's description with another title. It may be nil.
	server func(title string) *translate.Server
	// indexes keeps the indexes of views that all callers share. nil keeps none.
	indexes *indexes
	// work bounds the work of making the portable schemas of one backend, as in showOptions.
	work int
}

// narrow makes the view of a set. It decides which backend has a name or URI as v does, so that a
// set never has a name of another backend than v.
func (v *View) narrow(set *overlay.Set, c *viewOptions) *View {
	n := &View{
		Parts: v.Parts, owners: v.owners, overlay: v.overlay, access: v.access, lockDiffs: v.lockDiffs, sets: v.sets, disabled: v.disabled, refused: v.refused, skills: v.skills, pages: v.pages, private: v.private, failed: v.failed,
		whole: v, set: set, inSet: make(map[*policy.Target]*policy.Target),
	}
	if set.Title != "" && c.server != nil {
		n.server = c.server(set.Title)
	}
	s := &narrowing{whole: v, set: set, backends: make(map[string]*backend.Backend, len(v.Parts)), listed: make(map[*backend.Backend]bool)}
	for i := range v.Parts {
		s.backends[v.Parts[i].Backend.Name()] = v.Parts[i].Backend
	}
	n.Tools = s.tools(c.report)
	s.applySchemas(n.Tools, c.report, c.work)
	n.Prompts = s.prompts()
	for _, e := range n.Tools.List.Entries {
		n.inSet[&n.Tools.ByName[e.key].Target] = &e.target
	}
	for _, e := range n.Prompts.List.Entries {
		n.inSet[&n.Prompts.byName[e.key].target] = &e.target
	}
	n.members = s.resourceMembers(n.Tools)
	n.Resources = s.resources(n.members)
	n.Features = s.features(n, c.report)
	s.addOwnTools(n, c)
	n.instructions = s.instructions()
	n.missing = slices.ContainsFunc(v.Parts, func(p part) bool {
		return p.incomplete() && s.mayHaveAny(p.Backend.Name()) && !v.disabled.HasBackend(p.Backend.Name())
	})
	return n
}

// narrowing makes the view of a set.
type narrowing struct {
	whole    *View
	set      *overlay.Set
	backends map[string]*backend.Backend
	// listed has the backends of which the set lists something.
	listed map[*backend.Backend]bool
}

// has reports whether a backend's own name is a member of the set.
func (s *narrowing) has(kind overlay.Kind, b *backend.Backend, name string) bool {
	return s.set.Has(s.whole.overlay, kind, b.Name(), name)
}

// hasNamed reports whether a canonical name of a tool or prompt is a member of the set.
func (s *narrowing) hasNamed(kind overlay.Kind, b *backend.Backend, name string) bool {
	return s.has(kind, b, strings.TrimPrefix(name, b.Prefix()))
}

// mayHave reports whether something of a kind of a backend may be a member of the set.
func (s *narrowing) mayHave(kind overlay.Kind, name string) bool {
	return s.set.Include.MayHave(s.whole.overlay, kind, name) && !s.set.Exclude.HasBackend(name)
}

func (s *narrowing) mayHaveAny(name string) bool {
	return s.mayHave(overlay.KindTool, name) || s.mayHave(overlay.KindPrompt, name) || s.mayHave(overlay.KindResource, name)
}

// list returns the members of a list. Its entries have the set, which policy reads.
func (s *narrowing) list(l *list, member func(e *entry) bool) *list {
	out := l.subset(func(i int) bool { return member(l.Entries[i]) })
	for i, e := range out.Entries {
		own := *e
		own.target.Set = s.set.Name
		out.Entries[i] = &own
		s.listed[s.backends[e.owner]] = true
	}
	out.hint = s.hint(l.kind, out)
	return out
}

// hint returns the cache hint of a list, by the rules of merge.hint: of the backends with entries
// in it or, if it is empty, of those that may have some.
func (s *narrowing) hint(kind listKind, l *list) translate.CacheHint {
	m := &merge{showing: showOptions{overlay: s.whole.overlay}}
	for _, p := range s.whole.Parts {
		span := l.spans[p.Backend.Name()]
		if span.to > span.from || len(l.Entries) == 0 && s.mayHave(kindOfMembers(kind), p.Backend.Name()) {
			m.parts = append(m.parts, p)
		}
	}
	hint := m.hint(kind)
	hint.Public = hint.Public && !s.set.Private
	return hint
}

// kindOfMembers returns the kind of a list's entries.
func kindOfMembers(kind listKind) overlay.Kind {
	switch kind {
	case listTools:
		return overlay.KindTool
	case listPrompts:
		return overlay.KindPrompt
	}
	return overlay.KindResource
}

func (s *narrowing) tools(report *reporter) *toolSet {
	all := s.whole.Tools
	out := &toolSet{ByName: make(map[string]*Tool), reserved: make(map[string]reserved), byCanonical: make(map[canonicalName]*Tool)}
	for own, t := range all.byCanonical {
		if s.has(overlay.KindTool, t.Owner, t.Proto.GetName()) {
			out.byCanonical[own] = t
		}
	}
	for key, t := range all.ByName {
		switch {
		case !s.has(overlay.KindTool, t.Owner, t.Proto.GetName()):
		case ownToolOf(s.set, key) != nil || ownToolOf(s.set, t.ShownName) != nil:
			report.once("own\x00"+s.set.Name+"\x00"+key, "a tool of a backend has the name of one of the edge's own in a set, which does not have it; give it another name in the catalog",
				"set", s.set.Name, "backend", t.Owner.Name(), "tool", t.Proto.GetName(), "key", key)
		default:
			out.ByName[key] = t
		}
	}
	for key, r := range all.reserved {
		if s.hasNamed(overlay.KindTool, r.owner, r.name) && ownToolOf(s.set, key) == nil {
			out.reserved[key] = r
		}
	}
	out.List = s.list(all.List, func(e *entry) bool { return out.ByName[e.key] != nil })
	return out
}

func (s *narrowing) prompts() *promptSet {
	all := s.whole.Prompts
	out := &promptSet{byName: make(map[string]*Prompt), reserved: make(map[string]reserved), byCanonical: make(map[canonicalName]*Prompt)}
	for own, p := range all.byCanonical {
		if s.has(overlay.KindPrompt, p.Owner, p.Proto.GetName()) {
			out.byCanonical[own] = p
		}
	}
	for key, p := range all.byName {
		if s.has(overlay.KindPrompt, p.Owner, p.Proto.GetName()) {
			out.byName[key] = p
		}
	}
	for key, r := range all.reserved {
		if s.hasNamed(overlay.KindPrompt, r.owner, r.name) {
			out.reserved[key] = r
		}
	}
	out.List = s.list(all.List, func(e *entry) bool { return out.byName[e.key] != nil })
	return out
}

// instructions returns the set's own instructions, or those of the backends that the set includes
// as a whole. It omits other backends, whose instructions may describe objects that the set does
// not have. It returns none for a disabled set.
func (s *narrowing) instructions() string {
	switch {
	case s.whole.disabled.HasSet(s.set.Name):
		return ""
	case s.set.Instructions != "":
		return s.set.Instructions
	}
	m := &merge{showing: showOptions{overlay: s.whole.overlay, disabled: s.whole.disabled}}
	for _, p := range s.whole.Parts {
		if name := p.Backend.Name(); s.set.Include.HasBackend(name) && !s.set.Exclude.HasBackend(name) {
			m.parts = append(m.parts, p)
		}
	}
	return m.instructions()
}

// features returns the features of the set. They do not depend on the current lists, so that a
// client need not reconnect when a backend lists more, or when an operator enables an object.
func (s *narrowing) features(n *View, report *reporter) translate.Features {
	serving := &merge{report: report}
	for _, p := range s.whole.Parts {
		if s.mayHaveAny(p.Backend.Name()) || s.listed[p.Backend] {
			serving.parts = append(serving.parts, p)
		}
	}
	f := serving.features()
	may := func(kind overlay.Kind) bool {
		return slices.ContainsFunc(serving.parts, func(p part) bool { return s.mayHave(kind, p.Backend.Name()) })
	}
	resources := may(overlay.KindResource)
	f.Tools = f.Tools && may(overlay.KindTool) || s.set.ResourceTools
	f.Prompts = f.Prompts && may(overlay.KindPrompt)
	f.Resources = f.Resources && (resources || len(n.members.pages) > 0)
	f.Subscribe = f.Subscribe && f.Resources
	f.Completions = f.Completions && (f.Prompts || f.Resources)
	if f.Skills = f.Skills && resources; !f.Skills {
		f.Directories = false
		delete(f.Extensions, mcp.ExtensionSkills)
	}
	if f.Tasks = f.Tasks && slices.ContainsFunc(n.Tools.List.Entries, func(e *entry) bool {
		t := n.Tools.ByName[e.key]
		return t.Support().Optional || t.Tasks.Required
	}); !f.Tasks {
		delete(f.Extensions, mcp.ExtensionTasks)
	}
	for id := range f.Extensions { // those that backends have, of backends that the set shows
		if id != mcp.ExtensionSkills && id != mcp.ExtensionTasks && !s.showsExtension(id) {
			delete(f.Extensions, id)
		}
	}
	f.ToolsChanged, f.ResourcesChanged, f.PromptsChanged = f.Tools, f.Resources, f.Prompts
	return f
}

// showsExtension reports whether a backend of which the set lists something declares an extension.
func (s *narrowing) showsExtension(id string) bool {
	return slices.ContainsFunc(s.whole.Parts, func(p part) bool {
		_, declared := p.Catalog.Describe.GetExtensionsJson()[id]
		return declared && p.Backend.Carries(id) && s.listed[p.Backend]
	})
}
