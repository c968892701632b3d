package dispatch

import (
	"slices"
	"strings"

	"github.com/yosida95/uritemplate/v3"

	"github.com/mcpedge/mcpedge/edge/backend"
)

// maxTemplateURI bounds the URIs that are matched with templates, in bytes: matching costs far more
// than a comparison. Longer ones are routed by exact URI and by prefix.
const maxTemplateURI = 4 << 10

// route returns the backend that serves a URI: by exact URI, else by the first template that matches, else by the
// skill that it belongs to, else by the longest prefix, else as the page that a tool names; nil: none. A URI that templates of two backends match is reported.
func (s *resourceSet) route(uri string, report *reporter) *backend.Backend {
	if owner := s.byURI[uri]; owner != nil {
		return owner
	}
	if owner := s.byTemplate(uri, report); owner != nil {
		return owner
	}
	if owner := s.bySkill(uri); owner != nil {
		return owner
	}
	for _, p := range s.prefixes {
		if strings.HasPrefix(uri, p.text) {
			return p.owner
		}
	}
	return s.pages[uri]
}

func (s *resourceSet) byTemplate(uri string, report *reporter) *backend.Backend {
	if len(uri) > maxTemplateURI {
		return nil
	}
	var found *template
	for _, t := range s.templates {
		switch {
		case found != nil && found.owner == t.owner, !t.matches(uri):
		case found == nil:
			found = t
		default:
			report.once("ambiguous\x00"+found.text+"\x00"+t.text,
				"a URI matches the resource templates of two backends: the first answers for it",
				"uri", clip(uri), "template", found.text, "backend", found.owner.Name(),
				"other_template", t.text, "other_backend", t.owner.Name())
		}
	}
	if found == nil {
		return nil
	}
	return found.owner
}

// template is one backend's URI template (RFC 6570).
type template struct {
	text  string
	owner *backend.Backend
	// before and after are the literal ends, which tell most URIs apart without matching.
	before, after string
	parsed        *uritemplate.Template // nil: it cannot be parsed, so it matches nothing
}

func newTemplate(text string, owner *backend.Backend, report *reporter) *template {
	t := &template{text: text, owner: owner}
	parsed, err := uritemplate.New(text)
	if err != nil {
		report.once("template\x00"+owner.Name()+"\x00"+text, "a resource template cannot be parsed: nothing is routed by it",
			"backend", owner.Name(), "template", clip(text), "error", err)
		return t
	}
	t.parsed = parsed
	if open := strings.IndexByte(text, '{'); open >= 0 {
		t.before, t.after = text[:open], text[strings.LastIndexByte(text, '}')+1:]
	} else {
		t.before = text
	}
	return t
}

func (t *template) matches(uri string) bool {
	return t.parsed != nil && len(uri) >= len(t.before)+len(t.after) &&
		strings.HasPrefix(uri, t.before) && strings.HasSuffix(uri, t.after) &&
		strings.Count(uri, ",") <= maxCommas && t.parsed.Match(uri) != nil
}

// maxCommas bounds the commas of a URI that is matched against templates, since the time that takes grows with their square.
const maxCommas = 1000

// prefix is a URI prefix below which a backend serves every URI.
type prefix struct {
	text  string
	owner *backend.Backend
}

// prefixes orders the backends' URI prefixes, the longest first. An empty one claims nothing.
func (m *merge) prefixes() (out []prefix, conflicts []Conflict) {
	owners := make(map[string]*backend.Backend)
	for _, p := range m.parts {
		if !p.catalog.HasResources {
			continue
		}
		for _, text := range p.catalog.Describe.GetResources().GetUriPrefixes() {
			switch kept := owners[text]; {
			case text == "" || kept == p.backend:
			case kept != nil:
				conflicts = append(conflicts, Conflict{What: "URI prefix", Key: text, Kept: kept.Name(), Dropped: p.backend.Name()})
			default:
				owners[text] = p.backend
				out = append(out, prefix{text: text, owner: p.backend})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b prefix) int { return len(b.text) - len(a.text) })
	return out, conflicts
}

func samePrefixes(a, b []prefix) bool { return slices.Equal(a, b) }
