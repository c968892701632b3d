package catalog

import (
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/translate"
	"github.com/mcpedge/mcpedge/internal/uris"
)

// resourceSet is the resources and templates of a view, with the owners of URIs.
type resourceSet struct {
	owners       *owners
	byURI        map[string]int // the rank of a listed URI's owner
	templates    []*Template    // by rank
	byText       map[string]*Template
	byNormal     map[string]*Template     // by the normal form of its text; the first wins
	owned        map[*backend.Backend]int // the number of templates and variables of each backend
	spelled      spellings
	pinned       *pinnedVariables
	skillList    *list
	List         *list
	TemplateList *list
	conflicts    []Conflict
	problems     []problem
	digest       uint64
}

func (m *merge) resources(prev *resourceSet, digest uint64) *resourceSet {
	if prev != nil && m.sameOverlay && prev.digest == digest && prev.List.hint == m.hint(listResources) &&
		prev.TemplateList.hint == m.hint(listTemplates) && prev.skillList.hint == m.hint(listSkills) && m.owners.sameURIs(prev.owners) {
		return prev
	}
	s := &resourceSet{
		owners: m.owners, byURI: make(map[string]int), byText: make(map[string]*Template), byNormal: make(map[string]*Template), owned: make(map[*backend.Backend]int),
		conflicts: m.prefixes(), pinned: m.pinned(), digest: digest,
	}
	s.List = m.list(listResources, "resource", &s.conflicts, func(p part, add func(string, entry) []string) {
		for _, x := range p.Catalog.Resources {
			change := m.changed(listResources, p, x.GetUri())
			overlaid := change.Resource(x)
			render := func(dst []byte, r *revision.Rules) ([]byte, error) { return translate.AppendResource(dst, r, overlaid) }
			target := s.entryTarget(mcp.MethodResourcesRead, x.GetUri(), p.Backend, len(p.Catalog.Resources))
			target.IsListed = true
			if len(add(x.GetUri(), entry{render: render, shown: func() (proto.Message, string) { return overlaid, "" }, target: target})) > 0 {
				s.byURI[x.GetUri()] = m.rank(p)
			}
		}
	}, func(uri, _ string, rank int) { s.byURI[uri] = rank })
	s.TemplateList = m.list(listTemplates, "resource template", &s.conflicts, func(p part, add func(string, entry) []string) {
		for _, x := range p.Catalog.Templates {
			change := m.changed(listTemplates, p, x.GetUriTemplate())
			pin := s.pinned.of(p.Backend, x.GetUriTemplate())
			if pin != nil && pin.impossible != nil && !change.Hide {
				m.reportUnpinned(&s.problems, p, x.GetUriTemplate(), pin.impossible)
				t := newTemplate(x.GetUriTemplate(), p.Backend, m.rank(p), m.report)
				t.hidden = true
				s.addTemplate(t)
				continue
			}
			overlaid := change.Template(x)
			render := func(dst []byte, r *revision.Rules) ([]byte, error) { return translate.AppendTemplate(dst, r, overlaid) }
			target := policy.Target{Kind: policy.Template, Method: mcp.MethodResourcesRead, Name: x.GetUriTemplate(), Backend: p.Backend.Name()}
			one := entry{render: render, shown: func() (proto.Message, string) { return overlaid, "" }, target: target}
			if shown := len(add(x.GetUriTemplate(), one)) > 0; shown || change.Hide {
				t := newTemplate(x.GetUriTemplate(), p.Backend, m.rank(p), m.report)
				t.hidden, t.pin = change.Hide, pin
				s.addTemplate(t)
			}
		}
	}, func(text, _ string, rank int) {
		t := newTemplate(text, m.parts[rank].Backend, rank, m.report)
		t.pin = s.pinned.of(t.Owner, text)
		s.addTemplate(t)
	})
	m.skills(s)
	if prev != nil {
		s.List.keepSums(prev.List)
		s.TemplateList.keepSums(prev.TemplateList)
		s.skillList.keepSums(prev.skillList)
	}
	s.spelled = m.spellings()
	s.needListed()
	return s
}

func (s *resourceSet) addTemplate(t *Template) {
	s.templates = append(s.templates, t)
	s.owned[t.Owner]++
	if t.parsed != nil {
		s.owned[t.Owner] += len(t.parsed.Variables())
	}
	if t.hidden {
		return // It only gives variables to policy rules.
	}
	s.byText[t.Text] = t
	if normal := t.normal(); s.byNormal[normal] == nil {
		s.byNormal[normal] = t
	}
}

// maxWork bounds the comparisons of the URIs of one list, directory or result with the templates of
// their backend, and with the entries of the catalog: the bytes of a URI and its forms, for each
// template, variable and entry. Each URI has an equal share. A URI that exceeds its share is denied
// by rules that use resource.vars, as one that matches too many templates, and is hidden by a
// catalog with entries about its backend.
const maxWork = 1 << 28

// entryTarget returns the policy target of a URI in a backend's list of the given length. The
// variables of templates are computed when a rule first uses them, from the spelling that the
// backend would receive.
func (s *resourceSet) entryTarget(method mcp.Method, uri string, owner *backend.Backend, of int) policy.Target {
	return policy.Target{Kind: policy.Resource, Method: method, Name: uri, Backend: owner.Name(), Vars: sync.OnceValue(func() []map[string]string {
		if s.owned[owner]*len(uri)*(1+len(uris.Shorter(uri))) > maxWork/max(1, of) {
			return make([]map[string]string, policy.MaxReadings+1)
		}
		return s.variables(s.spelled.sent(owner, uri), owner)
	})}
}

// lists reports whether the list of resources has a URI of a backend in this spelling.
func (s *resourceSet) lists(uri string, owner *backend.Backend) bool {
	rank, listed := s.byURI[uri]
	return listed && s.owners.parts[rank].Backend == owner
}

// ownerOf returns the backend of the URI that a call names, in the backend's spelling. It is the
// backend that the call is bound to, or else the result of route. It returns nil if there is none,
// or if it does not serve resources now.
func (v *View) ownerOf(call *mcp.Call, uri string, report *reporter) *backend.Backend {
	if call.Backend == "" {
		return v.Resources.route(uri, report)
	}
	for i := range v.Parts {
		if p := &v.Parts[i]; p.Backend.Name() == call.Backend && p.Catalog.HasResources && !v.owners.away(i, listResources) {
			return p.Backend
		}
	}
	return nil
}
