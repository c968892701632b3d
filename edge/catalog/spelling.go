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

// Located is a URI that a client names, and the backend that it belongs to.
type Located struct {
	owner *backend.Backend
	// sent is the URI as the backend gets it: in its own spelling if it lists the URI, else in normal form.
	Sent string
	set  *resourceSet
}

// locate finds the backend of the URI that a call is about, by any spelling. false: there is none.
func (v *View) locate(call *mcp.Call, uri string, report *reporter) (Located, bool) {
	sent, listed := v.Resources.spelled.of(uri)
	found := Located{owner: v.ownerOf(call, sent, report), Sent: sent, set: v.Resources}
	if found.owner != nil && !listed {
		found.Sent = v.Resources.spelled.below(found.owner, sent)
	}
	return found, found.owner != nil
}

// target is what a policy decides on: the URI as the backend gets it.
func (l *Located) target(method mcp.Method) policy.Target {
	set, owner, sent := l.set, l.owner, l.Sent
	return policy.Target{Kind: policy.Resource, Method: method, Name: sent, Backend: owner.Name(),
		Vars: func() []map[string]string { return set.variables(sent, owner) }}
}

// variables are those of a URI by each template of its backend that matches, since the backend may take any, without equal ones and not
// many more than rules hold for; nil: none does.
func (s *resourceSet) variables(uri string, owner *backend.Backend) (all []map[string]string) {
	for _, t := range s.templates {
		if t.Owner != owner || t.parsed == nil {
			continue
		}
		vars, ok := t.parsed.Match(uri)
		if !ok || slices.ContainsFunc(all, func(one map[string]string) bool { return maps.Equal(one, vars) }) {
			continue
		}
		if all = append(all, vars); len(all) > policy.MaxReadings {
			break
		}
	}
	return all
}

// spellings are the URIs that backends spell otherwise than in normal form.
type spellings struct {
	// listed are the spellings by normal form; the normal form is the first if it is listed, too.
	listed map[string][]string
	// prefixes of URIs and the directories of skills of a backend, the longest normal form first.
	prefixes map[*backend.Backend][]respelling
}

// respelling is a prefix in normal form and as its backend has it.
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

// sent returns the spelling in which a backend gets a URI: its own if it lists the URI, else the normal form below the backend's own prefix.
func (s *spellings) sent(owner *backend.Backend, uri string) string {
	spelling, listed := s.of(uri)
	if listed {
		return spelling
	}
	return s.below(owner, spelling)
}

// below returns a URI in normal form with the longest prefix of its backend as the backend spells that.
func (s *spellings) below(owner *backend.Backend, normal string) string {
	for _, p := range s.prefixes[owner] {
		if rest, ok := strings.CutPrefix(normal, p.normal); ok {
			return p.own + rest
		}
	}
	return normal
}

// spellings gathers the URIs that the parts list: of resources, of skills with their files, and of the pages of tools. Spellings count of
// the first backend alone that may have a URI: no other one has a spelling of it.
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

// respelled are the prefixes below which a backend has URIs, of those that are not in normal form.
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

// maxSpellings bounds the listed URIs of one normal form that are told apart, so that a view is made in linear time. Those beyond it are
// reached as the first.
const maxSpellings = 16

// listed calls fn with each URI that the parts list, and the rank of the part, also those that are remembered of backends that are away.
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

// template returns the template that a text names, by its own text or else by another spelling; nil: there is none.
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

// normal is the template's text in normal form, or as it is if it cannot be parsed.
func (t *Template) normal() string {
	if t.parsed == nil {
		return t.Text
	}
	return t.parsed.Normal()
}

// Respell gives the contents of what was read the client's spelling of the URI, where they have the backend's.
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

// spelledOwner is the backend of a watched URI; the watch has the client's spelling. It is comparable.
type spelledOwner struct {
	*backend.Backend
	sent string
}

// watched is the owner of a URI that a client watches by a spelling.
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
