package catalog

import (
	"log/slog"
	"slices"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/policy"
)

// Preview is what clients would see of backends, by the catalogs alone, before there is a client. Not safe for concurrent use.
type Preview struct {
	opts  Options
	parts []part
}

// NewPreview makes one for a Catalog with these options.
func NewPreview(opts Options) *Preview { return &Preview{opts: opts.withDefaults()} }

// Of adds a backend and says, a sentence for each, which of its lists have more than one page if it is the only one. Clients
// are in use that read the first page only.
func (p *Preview) Of(b *backend.Backend, c *backend.Catalog) []string {
	one := part{Backend: b, Catalog: c}
	p.parts = append(p.parts, one)
	return p.say([]part{one}, 1)
}

// Together says, a sentence for each, which lists have more than one page as all backends that were added make them,
// of those lists that several have a part in.
func (p *Preview) Together() []string { return p.say(p.parts, 2) }

// Complete reports whether so many backends were added, none of which has lists that are a caller's own.
func (p *Preview) Complete(backends int) bool {
	return len(p.parts) == backends && !slices.ContainsFunc(p.parts, func(one part) bool { return one.Catalog.Private })
}

// Serves reports what a backend that was added serves: tools or prompts, which have names, and resources, which have URIs. Of one that was not
// added, and of a list that could not be read, it reports that it does.
func (p *Preview) Serves(name string) (names, uris bool) {
	for _, one := range p.parts {
		if c := one.Catalog; one.Backend.Name() == name {
			const named = backend.Tools | backend.Prompts
			return c.HasTools || c.HasPrompts || c.Unread&named != 0, c.HasResources || c.HasSkills || c.Unread.Has(backend.Resources)
		}
	}
	return true, true
}

// Conflicts are the names that several of the backends claim, in their order.
func (p *Preview) Conflicts() []Conflict { return p.view(p.parts).conflicts }

// Targets are all that the backends list, as clients see it.
func (p *Preview) Targets() []policy.Target { return p.view(p.parts).targets() }

func (p *Preview) view(parts []part) *View {
	return newView(parts, nil, &reporter{log: slog.New(slog.DiscardHandler)}, showing{work: p.opts.SchemaWork})
}
