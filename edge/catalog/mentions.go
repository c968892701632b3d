package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpedge/mcpedge/edge/backend"
)

// oldName is a name that clients cannot use, because the overlay hides or renames the object with
// it.
type oldName struct {
	name string
	// now is the name to use. It is empty if the overlay hides the object.
	now string
	// full is true for the name after its backend's prefix.
	full bool
	// place is the position in the settings of the entry that hides or renames the object, or of the
	// catalog if none does.
	place string
}

// text is a text of a backend that clients see. what names it.
type text struct{ what, body string }

// Mentions returns a note for each text of the added backends, as clients see it, that mentions names
// which the overlay hides or renames: a model would call a tool that does not exist. A name that may
// be a plain word counts only in quotes or backticks. Texts of other backends must have the name with
// its prefix.
func (p *Preview) Mentions() (notes []string) {
	old := make([][]oldName, len(p.parts))
	for i := range p.parts {
		old[i] = p.oldNames(p.parts[i].Backend, p.parts[i].Catalog)
	}
	if !slices.ContainsFunc(old, func(names []oldName) bool { return len(names) > 0 }) {
		return nil
	}
	for i, one := range p.parts {
		for _, t := range p.texts(one.Backend, one.Catalog) {
			var places []string
			found := map[string][]string{} // by place
			for j, names := range old {
				for _, o := range names {
					if (i == j || o.full) && mentions(t.body, o.name) {
						if found[o.place] == nil {
							places = append(places, o.place)
						}
						found[o.place] = append(found[o.place], o.String())
					}
				}
			}
			for _, place := range places {
				notes = append(notes, fmt.Sprintf("%s: old names in the %s of the backend %s: %s", place, t.what, one.Backend.Name(), firstNames(found[place])))
			}
		}
	}
	return notes
}

// String describes the name.
func (o *oldName) String() string {
	if o.now == "" {
		return o.name + ", which is hidden"
	}
	return o.name + ", which is " + o.now + " now"
}

// oldNames returns the names of a backend's tools and prompts that clients cannot use, with and
// without the backend's prefix. It omits names by which something else of the backend is shown.
func (p *Preview) oldNames(b *backend.Backend, c *backend.Catalog) (out []oldName) {
	usable := map[string]bool{}
	add := func(kind listKind, name string) {
		entries := entriesOf(p.opts.Overlay, kind)
		e := entries.Of(b.Name(), name)
		full, place := canonical(kind, b, name), cmp.Or(entries.Decides(b.Name(), name), "catalog")
		if !e.Hide {
			for _, given := range e.Given() {
				usable[given] = true
			}
			if e.Name == "" {
				usable[full], usable[name] = true, true
				return
			}
		}
		now := e.Name
		if e.Hide {
			now = ""
		}
		out = append(out, oldName{full, now, true, place})
		if name != full {
			out = append(out, oldName{name, now, false, place})
		}
	}
	for _, t := range c.Tools {
		add(listTools, t.GetName())
	}
	for _, x := range c.Prompts {
		add(listPrompts, x.GetName())
	}
	return slices.DeleteFunc(out, func(o oldName) bool { return usable[o.name] })
}

// texts returns the texts of a backend that clients see.
func (p *Preview) texts(b *backend.Backend, c *backend.Catalog) (out []text) {
	add := func(what, body string) { out = append(out, text{what, body}) }
	add("instructions", c.Describe.GetInstructions())
	for _, t := range c.Tools {
		e := entriesOf(p.opts.Overlay, listTools).Of(b.Name(), t.GetName())
		if shown, err := e.Tool(t); err == nil && !e.Hide {
			add("description of the tool "+t.GetName(), shown.GetDescription())
		}
	}
	for _, x := range c.Prompts {
		e := entriesOf(p.opts.Overlay, listPrompts).Of(b.Name(), x.GetName())
		if shown, err := e.Prompt(x); err == nil && !e.Hide {
			add("description of the prompt "+x.GetName(), shown.GetDescription())
		}
	}
	for _, x := range c.Resources {
		if e := entriesOf(p.opts.Overlay, listResources).Of(b.Name(), x.GetUri()); !e.Hide {
			add("description of the resource "+x.GetUri(), e.Resource(x).GetDescription())
		}
	}
	for _, x := range c.Skills {
		if e := entriesOf(p.opts.Overlay, listSkills).Of(b.Name(), x.GetUri()); !e.Hide {
			add("frontmatter of the skill "+x.GetUri(), x.GetFrontmatterJson())
		}
	}
	return append(out, p.documents[b.Name()]...)
}

// Documents returns the URIs of the files of a backend's skills and of the pages of its tools that
// clients see, each once.
func (p *Preview) Documents(b *backend.Backend, c *backend.Catalog) (out []string) {
	add := func(uri string) {
		if uri != "" && !slices.Contains(out, uri) {
			out = append(out, uri)
		}
	}
	for _, x := range c.Skills {
		if entriesOf(p.opts.Overlay, listSkills).Of(b.Name(), x.GetUri()).Hide {
			continue
		}
		add(x.GetUri())
		for _, f := range x.GetFiles() {
			add(f.GetUri())
		}
	}
	for _, t := range c.Tools {
		if e := entriesOf(p.opts.Overlay, listTools).Of(b.Name(), t.GetName()); !e.Hide {
			for _, uri := range pagesOf(t.GetMetaJson()) {
				add(uri)
			}
		}
	}
	return out
}

// AddDocument adds the text of one of a backend's Documents to those of Mentions. It is safe for
// concurrent use with itself.
func (p *Preview) AddDocument(b *backend.Backend, uri, body string) {
	what := "file " + uri + " of a skill"
	if strings.HasPrefix(uri, pageScheme) {
		what = "page " + uri
	}
	p.adding.Lock()
	defer p.adding.Unlock()
	p.documents[b.Name()] = append(p.documents[b.Name()], text{what, body})
}

// mentions reports whether a text has a name as a word. A name of lower-case letters alone counts
// only between quotes or backticks.
func mentions(body, name string) bool {
	plain := strings.IndexFunc(name, func(c rune) bool { return c < 'a' || c > 'z' }) < 0
	for from := 0; ; {
		at := strings.Index(body[from:], name)
		if at < 0 {
			return false
		}
		at += from
		before, _ := utf8.DecodeLastRuneInString(body[:at])
		after, size := utf8.DecodeRuneInString(body[at+len(name):])
		quoted := strings.ContainsRune("`'\"“‘«", before) && strings.ContainsRune("`'\"”’»(", after)
		if partOfName(before) || partOfName(after) && !endsSentence(after, body[at+len(name)+size:]) || plain && !quoted {
			from = at + len(name)
			continue
		}
		return true
	}
}

// partOfName reports whether a name may continue with c. It returns false where the text ends.
func partOfName(c rune) bool {
	return c != utf8.RuneError && (unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune("_-.", c))
}

// endsSentence reports whether c is a full stop that ends a sentence, and no part of a name.
func endsSentence(c rune, rest string) bool {
	next, _ := utf8.DecodeRuneInString(rest)
	return c == '.' && !partOfName(next)
}
