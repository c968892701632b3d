package catalog

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
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
// the backend is the only one, because some clients read only the first page, and one for each of
// which the overlay hides something.
func (p *Preview) Of(b *backend.Backend, c *backend.Catalog) []string {
	one := part{Backend: b, Catalog: c}
	p.parts = append(p.parts, one)
	return append(p.say([]part{one}, 1), p.hidden(b.Name(), c)...)
}

// shownHidden bounds the hidden names in a sentence.
const shownHidden = 20

// hidden says what the overlay hides of a backend's tools and prompts.
func (p *Preview) hidden(owner string, c *backend.Catalog) (out []string) {
	say := func(what string, names []string, all int) {
		n := len(names)
		if n == 0 {
			return
		}
		if n > shownHidden {
			names = append(names[:shownHidden], "…")
		}
		out = append(out, fmt.Sprintf("catalog hides %d of %d %s from clients: %s", n, all, what, strings.Join(names, ", ")))
	}
	var tools, prompts []string
	for _, t := range c.Tools {
		if p.opts.Overlay.Tools().Hides(owner, t.GetName()) {
			tools = append(tools, t.GetName())
		}
	}
	for _, x := range c.Prompts {
		if p.opts.Overlay.Prompts().Hides(owner, x.GetName()) {
			prompts = append(prompts, x.GetName())
		}
	}
	say("tools", tools, len(c.Tools))
	say("prompts", prompts, len(c.Prompts))
	return out
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

// Idle returns a note for each entry of the overlay that matches nothing of what its backend lists. It returns none about backends that were
// not added, and lists that could not be read or are private.
func (p *Preview) Idle() []string {
	var listed []overlay.Listed
	for _, one := range p.parts {
		if one.Catalog.Private {
			continue
		}
		l := overlay.Listed{Backend: one.Backend.Name(), NoTools: one.Catalog.Unread.Has(backend.Tools), NoPrompts: one.Catalog.Unread.Has(backend.Prompts)}
		for _, t := range one.Catalog.Tools {
			l.Tools = append(l.Tools, t.GetName())
		}
		for _, x := range one.Catalog.Prompts {
			l.Prompts = append(l.Prompts, x.GetName())
		}
		listed = append(listed, l)
	}
	return p.opts.Overlay.Idle(listed)
}

func (p *Preview) view(parts []part) *View {
	return newView(parts, nil, &reporter{log: slog.New(slog.DiscardHandler)}, showing{p.opts.Overlay, p.opts.SchemaWork})
}
