package catalog

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/policy"
)

// Preview computes, from catalogs and before any client connects, the lists that clients would see.
// It is not safe for concurrent use, but for AddDocument.
type Preview struct {
	opts   Options
	parts  []part
	faults []error
	// documents are the texts that AddDocument added, by the name of the backend.
	documents map[string][]text
	// adding guards documents in AddDocument.
	adding sync.Mutex
}

// NewPreview returns a Preview of a Catalog with these options.
func NewPreview(opts Options) *Preview {
	return &Preview{opts: opts.withDefaults(), documents: map[string][]text{}}
}

// Of adds a backend. It returns one sentence for each of its lists that would have several pages if
// it were the only backend, because some clients read only the first page. It also returns one for
// each list with entries that the overlay hides or renames, and one for each tool that differs from
// the lock.
func (p *Preview) Of(b *backend.Backend, c *backend.Catalog) []string {
	one := part{Backend: b, Catalog: c}
	p.parts = append(p.parts, one)
	out := p.describePages([]part{one}, 1)
	tools, prompts, resources := p.curated(b, listTools), p.curated(b, listPrompts), p.curated(b, listResources)
	for _, t := range c.Tools {
		e := tools.add(t.GetName())
		_, err := e.Tool(t)
		p.fault(&e, "tool", t.GetName(), err)
	}
	for _, x := range c.Prompts {
		e := prompts.add(x.GetName())
		_, err := e.Prompt(x)
		p.fault(&e, "prompt", x.GetName(), err)
	}
	uris := resourceNames(c)
	for _, uri := range uris {
		resources.add(uri)
	}
	for _, x := range c.Templates {
		p.pinFaults(b.Name(), x.GetUriTemplate())
	}
	return slices.Concat(out, p.lockReport(one), tools.notes("tools", len(c.Tools)), prompts.notes("prompts", len(c.Prompts)), resources.notes("resources", len(uris)))
}

// lockReport returns one sentence for each tool of a backend that differs from the overlay's lock.
func (p *Preview) lockReport(one part) (out []string) {
	m := &merge{parts: []part{one}, report: &reporter{log: slog.New(slog.DiscardHandler)}, showing: showOptions{overlay: p.opts.Overlay}}
	for _, problem := range m.compareLocked(nil).all() {
		out = append(out, problem.text)
	}
	return out
}

// resourceNames returns the listed names that the overlay's entries for resources match: the URIs
// of resources and skills, and the texts of templates.
func resourceNames(c *backend.Catalog) (out []string) {
	for _, x := range c.Resources {
		out = append(out, x.GetUri())
	}
	for _, x := range c.Templates {
		out = append(out, x.GetUriTemplate())
	}
	for _, x := range c.Skills {
		if !slices.Contains(out, x.GetUri()) { // It may be listed as a resource, too.
			out = append(out, x.GetUri())
		}
	}
	return out
}

// curated are the names of one list of a backend that the overlay hides or to which it gives names.
type curated struct {
	entries         overlay.List
	backend         *backend.Backend
	hidden, renamed []string
}

func (p *Preview) curated(b *backend.Backend, kind listKind) *curated {
	return &curated{entries: entriesOf(p.opts.Overlay, kind), backend: b}
}

func (c *curated) add(name string) overlay.Entry {
	e := c.entries.Of(c.backend.Name(), name)
	switch {
	case e.Hide:
		c.hidden = append(c.hidden, name)
	case e.Name != "":
		c.renamed = append(c.renamed, c.backend.Prefix()+name+" as "+strings.Join(e.Given(), ", also "))
	case len(e.Aliases) > 0:
		c.renamed = append(c.renamed, c.backend.Prefix()+name+", also "+strings.Join(e.Aliases, ", also "))
	}
	return e
}

// fault adds the impossible changes of a tool or prompt to the faults, each with the place of its
// entry. It ignores a nil error.
func (p *Preview) fault(e *overlay.Entry, what, name string, err error) {
	var each overlay.ArgumentErrors
	switch {
	case err == nil:
		return
	case !errors.As(err, &each):
		each = overlay.ArgumentErrors{{Place: e.Place, Err: err}}
	}
	for _, one := range each {
		p.faults = append(p.faults, fmt.Errorf("%s: arguments: the %s %s is hidden, because they cannot be changed: %w", one.Place, what, name, one.Err))
	}
}

// pinFaults adds the impossible pins of a template's variables to the faults.
func (p *Preview) pinFaults(backend, text string) {
	var each overlay.ArgumentErrors
	variables := p.opts.Overlay.Resources().VariablesOf(backend, text)
	if len(variables) == 0 || !errors.As(overlay.Unbound(text, variables), &each) {
		return
	}
	for _, one := range each {
		p.faults = append(p.faults, fmt.Errorf("%s: variables: the template %s%w", one.Place, text, errors.New(unpinned(one.Err))))
	}
}

// Faults returns an error for each tool, prompt and template whose change the overlay cannot apply.
func (p *Preview) Faults() error { return errors.Join(p.faults...) }

// notes returns the sentences about all names of the list. what names the list.
func (c *curated) notes(what string, all int) (out []string) {
	if n := len(c.hidden); n > 0 {
		out = append(out, fmt.Sprintf("catalog hides %d of %d %s from clients: %s", n, all, what, firstNames(c.hidden)))
	}
	if n := len(c.renamed); n > 0 {
		out = append(out, fmt.Sprintf("catalog gives names to %d of %d %s: %s", n, all, what, firstNames(c.renamed)))
	}
	return out
}

// shownNames bounds the names in a sentence.
const shownNames = 20

// firstNames returns the first names of a list.
func firstNames(names []string) string {
	if len(names) > shownNames {
		names = append(names[:shownNames:shownNames], "…")
	}
	return strings.Join(names, ", ")
}

// Together returns one sentence for each list to which several of the added backends contribute and
// that has more than one page.
func (p *Preview) Together() []string { return p.describePages(p.parts, 2) }

// Complete reports whether this number of backends was added, all with shared lists.
func (p *Preview) Complete(backends int) bool {
	return len(p.parts) == backends && !slices.ContainsFunc(p.parts, func(one part) bool { return one.Catalog.Private })
}

// Serves reports whether an added backend serves tools or prompts, which have names, and resources,
// which have URIs. It returns true for a backend that was not added, and for a list that could not
// be read.
func (p *Preview) Serves(name string) (names, uris bool) {
	for _, one := range p.parts {
		if c := one.Catalog; one.Backend.Name() == name {
			const named = backend.Tools | backend.Prompts
			return c.HasTools || c.HasPrompts || c.Unread&named != 0, c.HasResources || c.HasSkills || c.Unread.Has(backend.Resources)
		}
	}
	return true, true
}

// Conflicts returns the names that several of the backends list, in their order.
func (p *Preview) Conflicts() []Conflict { return p.view(p.parts).conflicts }

// GivenAt returns the place in the settings of the entry that gives the name of a conflict. It is empty
// if no entry does.
func (p *Preview) GivenAt(c Conflict) string {
	switch c.What {
	case "tool":
		return p.opts.Overlay.Tools().GivenAt(c.Key)
	case "prompt":
		return p.opts.Overlay.Prompts().GivenAt(c.Key)
	}
	return ""
}

// Targets returns the policy targets of all objects that the backends list, as clients see them.
func (p *Preview) Targets() (out []policy.Target) {
	for _, one := range p.view(p.parts).targets() {
		out = append(out, one.Target)
	}
	return out
}

// Idle returns the entries of the overlay that match none of their backends' names. It ignores
// backends that were not added, and lists that could not be read or are private.
func (p *Preview) Idle() []overlay.Idle { return p.opts.Overlay.Idle(listedBy(p.parts)) }

// Overridden returns a note for each field of an owner's entry that has no effect because the
// platform sets it.
func (p *Preview) Overridden() (notes []string) {
	listed := listedBy(p.parts)
	for i := range listed {
		l := &listed[i]
		notes = slices.Concat(notes, p.opts.Overlay.Tools().Overridden(l.Backend, l.Tools), p.opts.Overlay.Prompts().Overridden(l.Backend, l.Prompts),
			p.opts.Overlay.Resources().Overridden(l.Backend, l.Resources))
	}
	return notes
}

// Differing returns, for each added backend, the tools that differ from the overlay's lock.
func (p *Preview) Differing() map[string][]string {
	out := map[string][]string{}
	for _, one := range p.parts {
		if l := p.opts.Overlay.Lock(); compares(l, one.Backend) {
			for _, t := range one.Catalog.Tools {
				if len(l.Differences(one.Backend.Name(), t)) > 0 {
					out[one.Backend.Name()] = append(out[one.Backend.Name()], t.GetName())
				}
			}
		}
	}
	return out
}

func (p *Preview) view(parts []part) *View {
	return newView(parts, nil, &reporter{log: slog.New(slog.DiscardHandler)}, showOptions{overlay: p.opts.Overlay, work: p.opts.SchemaWork})
}
