package catalog

import (
	"slices"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/internal/uris"
)

// resourceMembers decides which URIs are members of a set. It is immutable.
type resourceMembers struct {
	whole *View
	set   *overlay.Set
	// pages are the pages of the set's tools.
	pages map[ownedPage]bool
	// included and excluded are the templates and skills of each backend that are members of the
	// set, and those that Exclude names.
	included, excluded map[*backend.Backend]covering
}

// covering are templates and skills, which cover URIs. roots are those of the skills.
type covering struct {
	templates []*Template
	skills    map[string]bool
	roots     skillRoots
}

// covers reports whether a URI matches one of the templates or belongs to one of the skills.
func (c *covering) covers(uri string) bool {
	return slices.ContainsFunc(c.templates, func(t *Template) bool { return t.matches(uri) }) ||
		c.roots.contains(uri)
}

// resourceMembers returns the members of a set with the given tools. A page of one of the tools
// is a member: hosts show the tool with it.
func (s *narrowing) resourceMembers(tools *toolSet) *resourceMembers {
	m := &resourceMembers{
		whole: s.whole, set: s.set, pages: tools.pages(),
		included: make(map[*backend.Backend]covering), excluded: make(map[*backend.Backend]covering),
	}
	for _, t := range s.whole.Resources.templates {
		add := func(to map[*backend.Backend]covering) {
			c := to[t.Owner]
			c.templates = append(c.templates, t)
			to[t.Owner] = c
		}
		if m.excludesTemplate(t.Owner, t.Text) {
			add(m.excluded)
		} else if s.set.Include.Has(s.whole.overlay, overlay.KindResource, t.Owner.Name(), t.Text) {
			add(m.included)
		}
	}
	for i, p := range s.whole.Parts {
		files, of := make(map[string][]string, len(p.Catalog.Skills)), 0
		for _, x := range p.Catalog.Skills {
			for _, f := range x.GetFiles() {
				files[x.GetUri()] = append(files[x.GetUri()], f.GetUri())
			}
			of += 1 + len(x.GetFiles())
		}
		of = 1 + of/listWork
		for _, skill := range s.whole.owners.names[i].Skills {
			to := m.included
			// A skill whose manifest names an excluded file is excluded as a whole.
			switch {
			case m.excludes(p.Backend, skill, of), slices.ContainsFunc(files[skill], func(uri string) bool { return m.excludes(p.Backend, uri, of) }):
				to = m.excluded
			case !s.set.Include.Has(s.whole.overlay, overlay.KindResource, p.Backend.Name(), skill):
				continue
			}
			c := to[p.Backend]
			if c.skills == nil {
				c.skills = make(map[string]bool)
			}
			c.skills[skill] = true
			c.roots.add(skill)
			to[p.Backend] = c
		}
	}
	for _, by := range []map[*backend.Backend]covering{m.included, m.excluded} {
		for owner, c := range by {
			c.roots.build()
			by[owner] = c
		}
	}
	return m
}

// excludes reports whether Exclude names a URI in one of its equivalent forms, or the URI exceeds its
// share of maxWork. of is the number of URIs that are compared.
func (m *resourceMembers) excludes(owner *backend.Backend, uri string, of int) bool {
	patterns := m.patterns(&m.set.Exclude, owner)
	if patterns == 0 {
		return false
	}
	forms, ok := formsWithin(uri, patterns, of)
	return !ok || slices.ContainsFunc(forms, func(form string) bool {
		return m.set.Exclude.Has(m.whole.overlay, overlay.KindResource, owner.Name(), form)
	})
}

// patterns returns the number of patterns with which a selection compares a backend's URI. For a
// selection with groups it includes the patterns of all entries about the backend.
func (m *resourceMembers) patterns(by *overlay.Selection, owner *backend.Backend) int {
	if len(by.Groups) > 0 {
		return by.Patterns() + m.whole.overlay.Resources().Count(owner.Name())
	}
	return by.Patterns()
}

func (m *resourceMembers) excludesTemplate(owner *backend.Backend, text string) bool {
	return slices.ContainsFunc(append(uris.TemplateForms(text), text), func(form string) bool {
		return m.set.Exclude.Has(m.whole.overlay, overlay.KindResource, owner.Name(), form)
	})
}

// has reports whether a URI of a backend, in the spelling that the backend receives, is a member of
// the set. The backend may read it as any of its equivalent forms, see uris.Forms. The first of
// these rules decides:
//
//   - a page of the set's tools is a member;
//   - a URI is no member if Exclude names one of its forms, or a skill to which one belongs;
//   - a URI in the list of resources is a member if Include names it;
//   - a URI is no member if one of its forms matches a template that Exclude names;
//   - a URI is a member if Include names each of its forms, or a template or skill of it, or the
//     backend.
//
// of is the number of URIs that are compared for one request. A URI that exceeds its share of
// maxWork is no member.
func (m *resourceMembers) has(owner *backend.Backend, sent string, of int) bool {
	patterns := m.patterns(&m.set.Include, owner) + m.patterns(&m.set.Exclude, owner)
	forms, ok := formsWithin(sent, 1+m.whole.Resources.owned[owner]+patterns, of)
	if !ok {
		return false
	}
	if m.pages[ownedPage{owner, uris.Normal(sent)}] {
		return true
	}
	excluded := m.excluded[owner]
	excludes := func(form string) bool {
		return m.set.Exclude.Has(m.whole.overlay, overlay.KindResource, owner.Name(), form) || excluded.roots.contains(form)
	}
	if slices.ContainsFunc(forms, excludes) {
		return false
	}
	includes := func(uri string) bool {
		return m.set.Include.Has(m.whole.overlay, overlay.KindResource, owner.Name(), uri)
	}
	if m.whole.Resources.lists(sent, owner) && includes(sent) {
		return true
	}
	if slices.ContainsFunc(forms, excluded.covers) {
		return false
	}
	included := m.included[owner]
	return !slices.ContainsFunc(forms, func(form string) bool { return !includes(form) && !included.covers(form) })
}

// resources returns the lists and templates of a set. URIs are routed as in the whole view.
func (s *narrowing) resources(m *resourceMembers) *resourceSet {
	all := s.whole.Resources
	out := &resourceSet{
		owners: all.owners, byURI: all.byURI, templates: all.templates, owned: all.owned, spelled: all.spelled, pinned: all.pinned,
		byText: make(map[string]*Template), byNormal: make(map[string]*Template),
	}
	member := func(t *Template) bool { return slices.Contains(m.included[t.Owner].templates, t) }
	for text, t := range all.byText {
		if member(t) {
			out.byText[text] = t
		}
	}
	for normal, t := range all.byNormal {
		if member(t) {
			out.byNormal[normal] = t
		}
	}
	of := 1 + len(all.List.Entries)/listWork
	uri := func(e *entry) bool { return m.has(s.backends[e.owner], e.key, of) }
	out.List = s.list(all.List, uri)
	out.TemplateList = s.list(all.TemplateList, func(e *entry) bool { return out.byText[e.key] != nil })
	out.skillList = s.list(all.skillList, func(e *entry) bool {
		return m.included[s.backends[e.owner]].skills[e.key]
	})
	return out
}

// outside reports whether a backend's URI is not a member of the view's set. of is the number of
// URIs that are compared for one request.
func (v *View) outside(owner *backend.Backend, sent string, of int) bool {
	return v.members != nil && !v.members.has(owner, sent, of)
}

// excludesPart reports whether the view's set excludes the known part of a URI in which a variable
// is unknown.
func (v *View) excludesPart(owner *backend.Backend, uri string, of int) bool {
	return v.members != nil && v.members.excludes(owner, uri, of)
}

// conceals reports whether a backend's URI does not exist for a caller, because the overlay hides it,
// the view's set does not have it, or a pinned variable may have another value in it. of is the number
// of URIs that are compared for one request, values are the caller's values of the pins.
func (v *View) conceals(owner *backend.Backend, sent string, of int, values []string) bool {
	return v.outside(owner, sent, of) || v.hidesURI(owner, sent, of) || v.Resources.pinsDeny(owner, sent, of, values)
}

// excludesName reports whether the view's set does not have a backend's own name.
func (v *View) excludesName(b *backend.Backend, kind listKind, name string) bool {
	return v.set != nil && !v.set.Has(v.overlay, kindOfMembers(kind), b.Name(), name)
}

// HidesFileOf reports whether the set in which the target was resolved lacks a file of a skill, or
// the file does not exist for the caller.
func (t *Target) HidesFileOf(x *pb.Skill) bool {
	return slices.ContainsFunc(x.GetFiles(), func(f *pb.SkillFile) bool {
		sent, of := t.view.Resources.spelled.sent(t.Backend, f.GetUri()), len(x.GetFiles())
		return t.view.outside(t.Backend, sent, of) || t.view.Resources.pinsDeny(t.Backend, sent, of, t.values())
	})
}

// Private reports whether not every caller may use the set in which the target was resolved.
func (t *Target) Private() bool { return t.view != nil && t.view.set != nil && t.view.set.Private }
