package catalog

import (
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/ownership"
	"github.com/mcpedge/mcpedge/internal/uris"
)

// hidesURI reports whether a hook or the overlay hides a URI of a backend. sent is the spelling that the
// backend receives. A backend may read it as any of its equivalent forms, see uris.Forms. The first
// of these rules decides:
//
//   - a URI is hidden if a hook hides one of its forms;
//   - a URI is hidden if an entry hides one of its forms;
//   - a URI that the list of resources shows is shown;
//   - a URI is hidden if one of its forms belongs to a hidden template or skill, because the backend
//     may answer by it;
//   - the default decides, unless entries show each form, a template or a skill of it. A page of a
//     shown tool is shown by default.
//
// of is the number of URIs that are compared for one request. A URI that exceeds its share of
// maxWork is hidden.
func (v *View) hidesURI(owner *backend.Backend, sent string, of int) bool {
	if v.withholds(owner, sent, of) {
		return true
	}
	entries := v.overlay.Resources()
	if !entries.About(owner.Name()) {
		return false
	}
	forms, ok := formsWithin(sent, 1+v.Resources.owned[owner]+entries.Count(owner.Name()), of)
	if !ok {
		return true
	}
	unmatched := forms[:0:0]
	for _, form := range forms {
		matched, hides := entries.Says(owner.Name(), form)
		if hides {
			return true
		}
		if !matched {
			unmatched = append(unmatched, form)
		}
	}
	if v.Resources.lists(sent, owner) {
		return false
	}
	unshown := false
	for _, form := range forms {
		shown, hidden := v.covers(entries, owner, form)
		if hidden {
			return true
		}
		unshown = unshown || !shown && slices.Contains(unmatched, form)
	}
	return entries.HidesOthers() && unshown && !v.pages[ownedPage{owner, uris.Normal(sent)}]
}

// withholds reports whether a hook hides a URI of a backend. Its parameters are those of hidesURI.
func (v *View) withholds(owner *backend.Backend, sent string, of int) bool {
	hidden := v.catalog(owner).Withheld
	if len(hidden) == 0 {
		return false
	}
	forms, ok := formsWithin(sent, 1, of)
	return !ok || slices.ContainsFunc(append(forms, uris.Normal(sent)), func(form string) bool { return hidden[form] })
}

// listWork is the work that a list of a backend may take, as a multiple of maxWork.
const listWork = 16

// formsWithin returns a URI and its forms, to be compared with a number of entries, templates and
// variables. of is the number of such URIs. ok is false if the URI exceeds its share of maxWork.
func formsWithin(uri string, with, of int) (forms []string, ok bool) {
	most := maxWork / max(1, of) / max(1, with)
	if len(uri) > min(most, 3*uris.MaxBytes) { // The normal form of a valid URI is not longer.
		return nil, false
	}
	forms = append([]string{uri}, uris.Forms(uri)...)
	for _, form := range forms {
		most -= len(form)
	}
	return forms, most >= 0
}

// concealsAt is conceals for a URI in any spelling and the name of a backend, which may be unknown.
func (v *View) concealsAt(name, uri string, who *mcp.Principal) bool {
	at := slices.IndexFunc(v.Parts, func(p part) bool { return p.Backend.Name() == name })
	return at >= 0 && v.conceals(v.Parts[at].Backend, v.Resources.spelled.sent(v.Parts[at].Backend, uri), 1, v.Resources.pinned.valuesFor(who))
}

// covers reports whether entries show a template or skill of a URI, and whether they hide one.
func (v *View) covers(entries overlay.List, owner *backend.Backend, uri string) (shown, hidden bool) {
	for _, t := range v.Resources.templates {
		if t.Owner == owner && t.matches(uri) {
			matched, hides := entries.Says(owner.Name(), t.Text)
			shown, hidden = shown || matched, hidden || hides
		}
	}
	skills := v.skills[owner]
	return shown || skills.shown.contains(uri), hidden || skills.hidden.contains(uri)
}

// overlaidSkills are the skills of a backend that entries match, and those of them that are hidden.
// The zero value has none.
type overlaidSkills struct{ shown, hidden skillRoots }

// skillRoots are the directories of skills. The zero value has none. A lookup is logarithmic in
// their number.
type skillRoots struct{ prefixes ownership.Prefixes }

// add adds the directory of a skill. Call build after the last one.
func (r *skillRoots) add(skill string) {
	if root, ok := strings.CutSuffix(skill, SkillFile); ok {
		r.prefixes.Add(root+"/", 0)
	}
}

func (r *skillRoots) build() { r.prefixes.Build() }

// contains reports whether a URI is the directory of one of the skills, or is in it.
func (r *skillRoots) contains(uri string) bool { return r.prefixes.Longest(uri+"/") != nil }

// skillsByOverlay returns the skills of each backend that entries match.
func (m *merge) skillsByOverlay() map[*backend.Backend]overlaidSkills {
	entries, out := m.overlay(listSkills), map[*backend.Backend]overlaidSkills{}
	for i, p := range m.parts {
		if name := p.Backend.Name(); entries.About(name) {
			var all overlaidSkills
			for _, skill := range m.owners.names[i].Skills {
				matched, hides := entries.Says(name, skill)
				if matched {
					all.shown.add(skill)
				}
				if hides {
					all.hidden.add(skill)
				}
			}
			all.shown.build()
			all.hidden.build()
			out[p.Backend] = all
		}
	}
	return out
}

// hidesListed reports whether the overlay hides an entry of a part's lists of resources, templates
// and skills by another form of its URI, or with the skill that it is in. of is the number of
// entries in the list. A list is compared once, not for each request, so that it has more work.
func (m *merge) hidesListed(entries overlay.List, kind listKind, p part, name string, of int) bool {
	by := p.Backend.Name()
	if kind == listTemplates {
		return slices.ContainsFunc(uris.TemplateForms(name), func(form string) bool {
			_, hides := entries.Says(by, form)
			return hides
		})
	}
	skills := m.skillsBy[p.Backend]
	return hiddenByName(entries, by, name, of/listWork) || skills.hidden.contains(name)
}

// Hides reports whether the overlay, the set or a pinned variable conceals one of several URIs that the target's backend
// returned for the request. of is their number.
func (t *Target) Hides(uri string, of int) bool {
	return t.view.conceals(t.Backend, t.view.Resources.spelled.sent(t.Backend, uri), of, t.values())
}
