package catalog

import (
	"log/slog"
	"slices"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/policy"
)

// Preview computes from catalogs what clients would see, before there is a client. It is not safe
// for concurrent use.
type Preview struct {
	opts  Options
	parts []part
}

// NewPreview returns a Preview of a Catalog with these options.
func NewPreview(opts Options) *Preview { return &Preview{opts: opts.withDefaults()} }

// Of adds a backend and returns one sentence for each of its lists that has more than one page if
// the backend is the only one. Some clients read only the first page.
func (p *Preview) Of(b *backend.Backend, c *backend.Catalog) []string {
	one := part{Backend: b, Catalog: c}
	p.parts = append(p.parts, one)
	return p.say([]part{one}, 1)
}

// Together returns one sentence for each list that has more than one page with all added backends,
// for lists to which several backends contribute.
func (p *Preview) Together() []string { return p.say(p.parts, 2) }

// Complete reports whether exactly this number of backends was added and none of them has private
// lists.
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

// Targets returns everything that the backends list, as clients see it.
func (p *Preview) Targets() []policy.Target { return p.view(p.parts).targets() }

func (p *Preview) view(parts []part) *View {
	return newView(parts, nil, &reporter{log: slog.New(slog.DiscardHandler)}, showing{work: p.opts.SchemaWork})
}
