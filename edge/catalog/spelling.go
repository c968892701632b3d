package catalog

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/catalog/changes"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/ownership"
	"github.com/mcpedge/mcpedge/edge/policy"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/internal/uris"
)

// Located is a URI that a client names, and the backend that owns it.
type Located struct {
	owner *backend.Backend
	// Sent is the URI as the backend receives it: in the backend's spelling if it lists the URI,
	// else in normal form.
	Sent string
	set  *resourceSet
	// values are the caller's values of the set's pins.
	values []string
}

// locate finds the backend of the URI that a call names, in any spelling. It returns false if there
// is none, or if the URI is concealed from the caller.
func (v *View) locate(call *mcp.Call, uri string, report *reporter) (Located, bool) {
	sent, listed := v.Resources.spelled.of(uri)
	found := Located{owner: v.ownerOf(call, sent, report), Sent: sent, set: v.Resources}
	if found.owner != nil && !listed {
		found.Sent = v.Resources.spelled.below(found.owner, sent)
	}
	found.values = v.Resources.pinned.valuesFor(&call.Principal)
	if found.owner == nil || v.conceals(found.owner, found.Sent, 1, found.values) {
		return found, false
	}
	if call.Method == mcp.MethodDirectoryRead { // A directory of another caller has no URI of a template itself.
		return found, !v.Resources.pinsDeny(found.owner, strings.TrimRight(found.Sent, "/")+"/x", 1, found.values)
	}
	return found, true
}

// target returns the policy target: the URI as the backend receives it.
func (l *Located) target(method mcp.Method) policy.Target {
	set, owner, sent := l.set, l.owner, l.Sent
	return policy.Target{Kind: policy.Resource, Method: method, Name: sent, Backend: owner.Name(), IsListed: set.lists(sent, owner),
		Vars: func() []map[string]string { return set.variables(sent, owner) }}
}

// variables returns the variables of a URI, and of the shorter URIs that the backend may read it as
// (see uris.Shorter), by each matching template of its backend, because the backend may use any of
// them. Equal ones are returned once. It stops one beyond policy.MaxReadings. It returns nil if no
// template matches. If only a shorter URI matches, the first element is empty.
func (s *resourceSet) variables(uri string, owner *backend.Backend) (all []map[string]string) {
	for i, read := range append([]string{uri}, uris.Shorter(uri)...) {
		for _, t := range s.templates {
			if t.Owner != owner || t.parsed == nil {
				continue
			}
			vars, ok := t.parsed.Match(read)
			if !ok || slices.ContainsFunc(all, func(one map[string]string) bool { return maps.Equal(one, vars) }) {
				continue
			}
			if i > 0 && all == nil {
				all = append(all, map[string]string{})
			}
			if all = append(all, vars); len(all) > policy.MaxReadings {
				return all
			}
		}
	}
	return all
}

// spellings are the URIs that backends do not spell in normal form.
type spellings struct {
	// listed maps the normal form to the listed spellings. The normal form comes first if it is
	// listed.
	listed map[string][]string
	// prefixes are the URI prefixes and skill directories of each backend, the longest normal form
	// first.
	prefixes map[*backend.Backend][]respelling
}

// respelling is a prefix in normal form and in its backend's spelling.
type respelling struct{ normal, own string }

// of returns the spelling in which a URI is listed, else its normal form.
func (s *spellings) of(uri string) (spelling string, listed bool) {
	normal := uris.Normal(uri)
	all := s.listed[normal]
	switch {
	case len(all) == 0:
		return normal, false
	case slices.Contains(all, uri):
		return uri, true
	}
	return all[0], true
}

// sent returns the spelling in which a backend receives a URI: its own if it lists the URI, else
// the normal form with the backend's own prefix.
func (s *spellings) sent(owner *backend.Backend, uri string) string {
	spelling, listed := s.of(uri)
	if listed {
		return spelling
	}
	return s.below(owner, spelling)
}

// below returns a URI with the longest matching prefix of its backend in the backend's spelling.
// normal is in normal form.
func (s *spellings) below(owner *backend.Backend, normal string) string {
	for _, p := range s.prefixes[owner] {
		if rest, ok := strings.CutPrefix(normal, p.normal); ok {
			return p.own + rest
		}
	}
	return normal
}

// spellings gathers the URIs that the parts list: of resources, of skills with their files, and of
// the pages of tools. Only spellings of the first backend that may own a URI are used, since no
// other backend has a spelling of it.
func (m *merge) spellings() (out spellings) {
	holders := map[string]int{}
	m.listed(func(uri string, rank int) {
		normal := uris.Normal(uri)
		if _, known := holders[normal]; !known && ownership.Allows(m.owners.uris.Longest(normal), rank) {
			holders[normal] = rank
		}
		if holder, known := holders[normal]; !known || holder != rank {
			return
		}
		if normal == uri || len(out.listed[normal]) >= maxSpellings || slices.Contains(out.listed[normal], uri) {
			return
		}
		if out.listed == nil {
			out.listed = map[string][]string{}
		}
		out.listed[normal] = append(out.listed[normal], uri)
	})
	if out.listed != nil {
		m.listed(func(uri string, rank int) {
			if all := out.listed[uri]; len(all) > 0 && all[0] != uri && holders[uri] == rank {
				out.listed[uri] = slices.Insert(all, 0, uri)
			}
		})
	}
	for i, p := range m.parts {
		if all := respelled(m.owners.names[i]); len(all) > 0 {
			if out.prefixes == nil {
				out.prefixes = map[*backend.Backend][]respelling{}
			}
			out.prefixes[p.Backend] = all
		}
	}
	return out
}

// respelled returns the prefixes of a backend's URIs that are not in normal form.
func respelled(n *ownership.Names) (out []respelling) {
	add := func(prefix string) {
		if normal := uris.Normal(prefix); normal != prefix {
			out = append(out, respelling{normal, prefix})
		}
	}
	for _, prefix := range n.Prefixes {
		add(prefix)
	}
	for _, uri := range n.Skills {
		add(strings.TrimSuffix(uri, SkillFile[1:]))
	}
	slices.SortStableFunc(out, func(a, b respelling) int { return len(b.normal) - len(a.normal) })
	return out
}

// maxSpellings bounds the spellings of one normal form, so that a view is made in linear time.
// Further spellings are resolved to the first.
const maxSpellings = 16

// listed calls fn with each URI that the parts list and the part's rank, including remembered URIs
// of backends that are away.
func (m *merge) listed(fn func(uri string, rank int)) {
	for i, p := range m.parts {
		n := m.owners.names[i]
		for _, list := range [][]string{n.Resources, n.Skills, n.Pages} {
			for _, uri := range list {
				fn(uri, i)
			}
		}
		for _, uri := range n.Skills {
			fn(strings.TrimSuffix(uri, SkillFile), i)
		}
		for _, x := range p.Catalog.Skills {
			for _, f := range x.GetFiles() {
				fn(f.GetUri(), i)
			}
		}
	}
}

// template returns the template with a text, in its own or another spelling, or nil.
func (s *resourceSet) template(text string) *Template {
	if t := s.byText[text]; t != nil {
		return t
	}
	parsed, err := uris.Parse(text)
	if err != nil {
		return nil
	}
	return s.byNormal[parsed.Normal()]
}

// normal returns the template's text in normal form, or unchanged if it cannot be parsed.
func (t *Template) normal() string {
	if t.parsed == nil {
		return t.Text
	}
	return t.parsed.Normal()
}

// Respell replaces the backend's spelling of the URI by the client's in the contents of a read.
func (l *Located) Respell(contents []*pb.ResourceContents, uri string) {
	if l.Sent == uri {
		return
	}
	normal := uris.Normal(uri)
	for _, c := range contents {
		if c.GetUri() == l.Sent || uris.Normal(c.GetUri()) == normal {
			c.Uri = uri
		}
	}
}

// spelledOwner is the backend of a watched URI. The watch reports the client's spelling. It is
// comparable.
type spelledOwner struct {
	*backend.Backend
	sent string
}

// watched returns the owner of a URI for a watch in the given spelling.
func (l *Located) watched(uri string) changes.Owner {
	if l.Sent == uri {
		return l.owner
	}
	return spelledOwner{l.owner, l.Sent}
}

// Watch implements changes.Owner.
func (o spelledOwner) Watch(ctx context.Context, p mcp.Principal, uri string, fn func(uri string)) (stop func(), err error) {
	return o.Backend.Watch(ctx, p, o.sent, func(changed string) {
		if changed == o.sent || uris.Normal(changed) == uris.Normal(uri) {
			changed = uri
		}
		fn(changed)
	})
}
