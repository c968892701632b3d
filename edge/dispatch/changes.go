package dispatch

import (
	"context"
	"sync"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

const allKinds = backend.Tools | backend.Resources | backend.Prompts

// Changes opens a feed of changes for one subscriber. It waits until the backends report on the
// filter's URIs, or refused, so that nothing falls between; a feed without URIs costs neither a call
// nor a goroutine. It fails when ctx ends.
func (d *Dispatch) Changes(ctx context.Context, p mcp.Principal, f mcp.Filter) (mcp.Feed, error) {
	feed := newFeed(d, p)
	d.hub.add(feed)
	if _, err := feed.Update(ctx, f, false); err != nil {
		feed.Close()
		return nil, err
	}
	return feed, nil
}

// hub brings the view up to date when a backend changes, and tells the feeds. Nothing of it is on a
// call's path, and it has a goroutine only while there is something to do.
type hub struct {
	d *Dispatch

	mu      sync.Mutex
	feeds   map[*feed]struct{}
	pending backend.Kinds // what changed since the running refresh looked
	dirty   bool          // a refresh is due
	settled chan struct{} // closed when the running refresh ends; nil: none runs
	routing bool          // a reroute goroutine exists
	reroute bool          // a reroute is due
}

func newHub(d *Dispatch) *hub { return &hub{d: d, feeds: make(map[*feed]struct{})} }

func (h *hub) add(f *feed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.feeds[f] = struct{}{}
}

func (h *hub) remove(f *feed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.feeds, f)
}

// snapshot is the feeds of now.
func (h *hub) snapshot() []*feed {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]*feed, 0, len(h.feeds))
	for f := range h.feeds {
		out = append(out, f)
	}
	return out
}

// changed notes that a backend's catalog was replaced. It does not block.
func (h *hub) changed(_ *backend.Backend, kinds backend.Kinds) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pending |= kinds
	h.dirty = true
	if h.settled == nil {
		h.settled = make(chan struct{})
		go h.refresh()
	}
}

// Settle waits until the view shows every change that the backends have reported so far. It fails
// when ctx ends.
func (d *Dispatch) Settle(ctx context.Context) error {
	d.hub.mu.Lock()
	settled := d.hub.settled
	d.hub.mu.Unlock()
	if settled == nil {
		return nil
	}
	select {
	case <-settled:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// refresh makes the view anew until nothing is due, and tells the feeds each time.
func (h *hub) refresh() {
	for {
		h.mu.Lock()
		if !h.dirty {
			close(h.settled)
			h.settled = nil
			h.mu.Unlock()
			return
		}
		kinds := h.pending
		h.pending, h.dirty = 0, false
		h.mu.Unlock()

		before, after := h.d.views.refresh()
		if !after.private && !before.private {
			kinds = 0 // what all callers share changed only where its digest did
		}
		kinds |= differences(before.digest, after.digest)
		if kinds != 0 {
			for _, f := range h.snapshot() {
				f.listsChanged(kinds)
			}
		}
		if before != after {
			h.rerouteSoon()
		}
	}
}

func differences(a, b mcp.Digest) (kinds backend.Kinds) {
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

// rerouteSoon has every watched URI looked at again: it may have a new owner, or one at last.
func (h *hub) rerouteSoon() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reroute = true
	if !h.routing {
		h.routing = true
		go h.rerouteAll()
	}
}

// rerouteAll is apart from refresh, since opening a watch waits for a backend.
func (h *hub) rerouteAll() {
	for {
		h.mu.Lock()
		if !h.reroute {
			h.routing = false
			h.mu.Unlock()
			return
		}
		h.reroute = false
		h.mu.Unlock()

		var wg sync.WaitGroup
		room := make(chan struct{}, watchesAtOnce)
		for _, f := range h.snapshot() {
			if !f.watching() {
				continue
			}
			room <- struct{}{}
			wg.Go(func() {
				defer func() { <-room }()
				f.rerouteWatches()
			})
		}
		wg.Wait()
	}
}
