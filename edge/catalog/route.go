package catalog

import (
	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/ownership"
	"github.com/mcpedge/mcpedge/internal/uris"
)

// route returns the backend that owns a URI, which may be away, or nil. By the rules of owners, it
// is the first permitted backend that lists the URI, has a matching template, a skill or a tool's
// page with this URI, or claims its prefix. A listed URI is found by its own spelling, any other by
// its normal form.
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

// byTemplate returns the first matching template of a backend in allowed with a rank below the
// given one, or nil.
func (s *resourceSet) byTemplate(uri string, below int, allowed []int, report *reporter) *Template {
	var found *Template
	for _, t := range s.templates {
		if t.rank >= below {
			break
		}
		switch {
		case t.hidden, found != nil && found.Owner == t.Owner, !ownership.Allows(allowed, t.rank), !t.matches(uri):
		case found == nil:
			found = t
		default:
			report.once("ambiguous\x00"+found.Text+"\x00"+t.Text,
				"a URI matches the resource templates of two backends: the first owns it",
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
	rank   int             // the owner's
	parsed *uris.Template  // nil: it cannot be parsed and matches nothing
	hidden bool            // by the overlay: it routes no URI
	pin    *pinnedTemplate // nil: no variable is pinned
}

func newTemplate(text string, owner *backend.Backend, rank int, report *reporter) *Template {
	t := &Template{Text: text, Owner: owner, rank: rank}
	parsed, err := uris.Parse(text)
	if err != nil {
		report.once("template\x00"+owner.Name()+"\x00"+text, "a resource template cannot be parsed: it matches no URI",
			"backend", owner.Name(), "template", Clip(text), "error", err)
		return t
	}
	t.parsed = parsed
	return t
}

func (t *Template) matches(uri string) bool { return t.parsed != nil && t.parsed.Matches(uri) }

// prefixes reports the claimed URI prefixes that have no effect or only part of it: those that an
// earlier backend claims, and those that the platform does not grant to the backend.
func (m *merge) prefixes() (conflicts []Conflict) {
	first := make(map[string]int)
	for i, n := range m.owners.names {
		name := m.parts[i].Backend.Name()
		for _, text := range n.Prefixes {
			if !m.owners.mayServe(text, i) {
				m.report.once("beyond\x00"+name+"\x00"+text,
					"a backend claims a URI prefix that the configuration does not grant to it: the claim is ignored; add the prefix to the backend's uris",
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
