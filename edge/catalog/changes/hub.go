// Package changes tells subscribers of changes: in the lists of tools, resources and prompts, and in the resources
// that they watch.
//
//	catalog replaced ─► Hub ─► Source.Refresh ─► feeds: changed lists, after a jitter
//	                                        └──► feeds: watches whose owner is another one now are moved
//	resource updated ─► Owner.Watch ─► the watch's feed, at once
//
// A Hub has a goroutine only while there is something to do, and a feed has none: what is pending for a feed is
// bounded, and its reader takes it with Next.
package changes

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Source knows what is served now. Its methods are safe for concurrent use, but for Refresh.
type Source interface {
	// Refresh takes in what the backends list now. reported are the kinds that they reported as changed since
	// the last call; kinds are those that subscribers are to be told of. replaced says that owners of resources
	// may be others than before. It is not called while another call runs.
	Refresh(reported backend.Kinds) (kinds backend.Kinds, replaced bool)
	// View is what a caller sees. It may ask backends; it fails when ctx ends.
	View(ctx context.Context, p mcp.Principal) (View, error)
	// Differ tells the kinds of lists that two callers do not see alike. It may ask backends; it fails when ctx ends.
	Differ(ctx context.Context, a, b mcp.Principal) (backend.Kinds, error)
}

// Revoker is a Source that knows, without asking anybody, what may not be watched any more.
type Revoker interface {
	// Revoked reports that a caller may not watch a resource at a backend: it does not wait.
	Revoked(p mcp.Principal, uri string, owner Owner) bool
}

// Hider is a Source that keeps resources from callers.
type Hider interface {
	// Hides reports that a caller may not watch a resource, which is below one that it watches at a backend: it is not told of it. It does
	// not wait.
	Hides(p mcp.Principal, uri string, owner Owner) bool
}

// View is what one caller sees at one time. It is immutable.
type View interface {
	// Reportable is the part of a filter's kinds whose changes may come.
	Reportable(f mcp.Filter) backend.Kinds
	// Owner is the backend that a resource can be watched at; nil: none.
	Owner(uri string) Owner
}

// Owner is a backend at which resources are watched. Equal values are the same backend. Safe for concurrent use.
type Owner interface {
	Name() string
	// Timeout bounds the opening of a watch.
	Timeout() time.Duration
	// Watch returns when changes of the resource are reported, each by a call of fn with the URI of what changed,
	// the resource's own or one below it. stop ends the watch, is idempotent, and must be called in the end; a call
	// of fn that has begun may outlast it.
	Watch(ctx context.Context, p mcp.Principal, uri string, fn func(uri string)) (stop func(), err error)
}

var _ Owner = (*backend.Backend)(nil)

// Options are the settings of a Hub.
type Options struct {
	// Jitter is the most that a list's change is held back; 0 or less: nothing.
	Jitter time.Duration
	// WatchedURIs bounds the resources of one feed; those beyond it are not honoured.
	WatchedURIs int
	// Logger hears of resources that cannot be watched.
	Logger *slog.Logger
}

// Hub keeps the feeds of all subscribers. All methods are safe for concurrent use.
type Hub struct {
	source Source
	opts   Options

	mu      sync.Mutex
	feeds   map[*feed]struct{}
	pending backend.Kinds // reported since the running refresh began
	dirty   bool          // a refresh is due
	settled chan struct{} // closed when the running refresh ends; nil: none runs
	routing bool          // a reroute goroutine exists
	reroute bool          // a reroute is due

	// looking bounds the feeds whose views are made at a time.
	looking chan struct{}
}

// New makes a Hub. It needs no closing: it ends with its feeds.
func New(source Source, opts Options) *Hub {
	return &Hub{source: source, opts: opts, feeds: make(map[*feed]struct{}), looking: make(chan struct{}, watchesAtOnce)}
}

// Open opens a feed for one subscriber. It waits until the backends report on the filter's URIs, or refused, so
// that no change after it is missed; a feed without URIs costs neither a call nor a goroutine. It fails when ctx
// ends.
func (h *Hub) Open(ctx context.Context, p mcp.Principal, f mcp.Filter) (mcp.Feed, error) {
	feed := newFeed(h, p)
	h.add(feed)
	if _, err := feed.Update(ctx, f, false); err != nil {
		feed.Close()
		return nil, err
	}
	return feed, nil
}

// Changed notes that a backend's catalog was replaced, and the kinds that it reported as changed. It does not block.
func (h *Hub) Changed(kinds backend.Kinds) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pending |= kinds
	h.dirty = true
	if h.settled == nil {
		h.settled = make(chan struct{})
		go h.refresh()
	}
}

// Settle waits until the source was refreshed after every call of Changed so far. It fails when ctx ends.
func (h *Hub) Settle(ctx context.Context) error {
	h.mu.Lock()
	settled := h.settled
	h.mu.Unlock()
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

// Exchange calls swap, which changes what callers see, and tells each feed of the kinds of lists whose digests are others
// after it. look is the digest of what a caller sees now. With outdated the feeds' principals do not have all that is looked
// at from now on: those that are open are told this time and every other. Not to be called while it runs.
func (h *Hub) Exchange(look func(mcp.Principal) mcp.Digest, differ func(a, b mcp.Digest) backend.Kinds, swap func(), outdated bool) {
	before := map[*feed]mcp.Digest{}
	for _, f := range h.snapshot() {
		before[f] = look(*f.principal.Load())
	}
	swap()
	for _, f := range h.snapshot() {
		was, there := before[f] // one that is not there may have been opened before swap or after it
		f.outdated = f.outdated || outdated
		if f.outdated || !there {
			f.listsChanged(backend.Tools | backend.Resources | backend.Prompts)
		} else if kinds := differ(was, look(*f.principal.Load())); kinds != 0 {
			f.listsChanged(kinds)
		}
	}
	h.rerouteSoon()
}

func (h *Hub) add(f *feed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.feeds[f] = struct{}{}
}

func (h *Hub) remove(f *feed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.feeds, f)
}

// snapshot returns the feeds that are open now.
func (h *Hub) snapshot() []*feed {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]*feed, 0, len(h.feeds))
	for f := range h.feeds {
		out = append(out, f)
	}
	return out
}

// refresh has the source look again until nothing is due, and tells the feeds each time.
func (h *Hub) refresh() {
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

		kinds, replaced := h.source.Refresh(kinds)
		if kinds != 0 {
			for _, f := range h.snapshot() {
				f.listsChanged(kinds)
			}
		}
		if replaced {
			h.rerouteSoon()
		}
	}
}

// rerouteSoon has every watched URI looked at again: it may have another owner, or one for the first time.
func (h *Hub) rerouteSoon() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reroute = true
	if !h.routing {
		h.routing = true
		go h.rerouteAll()
	}
}

// rerouteAll ends the watches of all feeds that are revoked, and has each feed look at its URIs again. It runs beside refresh, and
// waits for no backend.
func (h *Hub) rerouteAll() {
	for {
		h.mu.Lock()
		if !h.reroute {
			h.routing = false
			h.mu.Unlock()
			return
		}
		h.reroute = false
		h.mu.Unlock()

		feeds := h.snapshot()
		for _, f := range feeds {
			f.revoke(*f.principal.Load())
		}
		for _, f := range feeds {
			f.rerouteSoon()
		}
	}
}
