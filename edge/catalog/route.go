package catalog

import (
	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/ownership"
	"github.com/mcpedge/mcpedge/internal/uris"
)

// route returns the backend that a URI belongs to, which may be away; nil: none. See owners: of the backends that the platform allows,
// it is the first that lists the URI, has a template that matches it, a skill or a tool's page of it, or says that it serves
// its prefix. What is listed is found by its own spelling, all else by the normal form.
func (s *resourceSet) route(uri string, report *reporter) *backend.Backend {
	normal := uris.Normal(uri)
	allowed, none := s.owners.uris.Longest(normal), len(s.owners.parts)
	first := s.owners.first(normal, none, allowed)
	if rank, ok := s.byURI[uri]; ok {
		first = min(first, rank)
	}
	if t := s.byTemplate(normal, first, allowed, report); t != nil {
		first = t.rank
	}
	if first == none {
		return s.owners.granteeAway(allowed)
	}
	return s.owners.parts[first].Backend
}

// byTemplate is the first template below a rank, of a backend in allowed, that matches a URI; nil: none.
func (s *resourceSet) byTemplate(uri string, below int, allowed []int, report *reporter) *Template {
	var found *Template
	for _, t := range s.templates {
		if t.rank >= below {
			break
		}
		switch {
		case found != nil && found.Owner == t.Owner, !ownership.Allows(allowed, t.rank), !t.matches(uri):
		case found == nil:
			found = t
		default:
			report.once("ambiguous\x00"+found.Text+"\x00"+t.Text,
				"a URI matches the resource templates of two backends: the first answers for it",
				"uri", Clip(uri), "template", found.Text, "backend", found.Owner.Name(),
				"other_template", t.Text, "other_backend", t.Owner.Name())
		}
	}
	return found
}

// Template is one backend's URI template (RFC 6570).
type Template struct {
	Text   string
	Owner  *backend.Backend
	rank   int            // the owner's
	parsed *uris.Template // nil: it cannot be parsed, so it matches nothing
}

func newTemplate(text string, owner *backend.Backend, rank int, report *reporter) *Template {
	t := &Template{Text: text, Owner: owner, rank: rank}
	parsed, err := uris.Parse(text)
	if err != nil {
		report.once("template\x00"+owner.Name()+"\x00"+text, "a resource template cannot be parsed: nothing is routed by it",
			"backend", owner.Name(), "template", Clip(text), "error", err)
		return t
	}
	t.parsed = parsed
	return t
}

func (t *Template) matches(uri string) bool { return t.parsed != nil && t.parsed.Matches(uri) }

// prefixes reports the URI prefixes that count for nothing, or for less than their backends say: those of others, and those beyond what
// the platform gives to a backend.
func (m *merge) prefixes() (conflicts []Conflict) {
	first := make(map[string]int)
	for i, n := range m.owners.names {
		name := m.parts[i].Backend.Name()
		for _, text := range n.Prefixes {
			if !m.owners.mayServe(text, i) {
				m.report.once("beyond\x00"+name+"\x00"+text,
					"a backend says that it serves a URI prefix which the configuration does not give to it: it counts for nothing; add it to the backend's uris",
					"backend", name, "prefix", Clip(text))
				continue
			}
			if kept, taken := first[text]; taken {
				conflicts = append(conflicts, Conflict{What: "URI prefix", Key: text, Kept: m.parts[kept].Backend.Name(), Dropped: name})
				continue
			}
			first[text] = i
		}
	}
	return conflicts
}
