package changes

import (
	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

const allKinds = backend.Tools | backend.Resources | backend.Prompts

// Reach says of which kinds of lists Replace notifies the feeds.
type Reach byte

const (
	// Differing is the kinds whose digests differ afterwards.
	Differing Reach = iota
	// Every is every kind, because digests do not have all that differs.
	Every
	// Outdated is every kind, now and at each later Replace, because the principals of the open feeds
	// lack data that decides on lists from now on.
	Outdated
)

// Replace calls swap, which changes what callers see, and notifies the feeds of changed lists. A feed
// that was opened meanwhile is notified of every kind. Digests are computed after swap, while other
// calls of Replace may run.
func (h *Hub) Replace(swap func() Reach) {
	look := func(f *feed) (digest func() mcp.Digest) { return h.source.Look(f.set, *f.principal.Load()) }
	h.swapping.Lock()
	before := map[*feed]func() mcp.Digest{}
	for _, f := range h.snapshot() {
		before[f] = look(f)
	}
	reach := swap()
	after := h.snapshot()
	for _, f := range after {
		if reach == Outdated {
			f.outdated.Store(true)
		}
	}
	h.swapping.Unlock()

	h.rerouteSoon()
	for _, f := range after {
		kinds := allKinds
		if digest := before[f]; digest != nil && reach == Differing && !f.outdated.Load() {
			kinds = Differences(digest(), look(f)())
		}
		f.listsChanged(kinds)
	}
}

// Differences returns the kinds of lists whose digests differ.
func Differences(a, b mcp.Digest) (kinds backend.Kinds) {
	if a.Tools != b.Tools {
		kinds |= backend.Tools
	}
	if a.Resources != b.Resources {
		kinds |= backend.Resources
	}
	if a.Prompts != b.Prompts {
		kinds |= backend.Prompts
	}
	return kinds
}
