// Package changes notifies subscribers of changes: of the lists of tools, resources and prompts,
// and of the resources that they watch.
//
//	catalog replaced ─► Hub ─► Source.Refresh ─► feeds: changed lists, after a jitter
//	                                        └──► feeds: watches whose owner changed are moved
//	settings replaced ─► Hub.Replace ─► feeds: lists whose digests differ
//	resource updated ─► Owner.Watch ─► the watch's feed, at once
//
// A Hub has a goroutine only while there is work, and a feed has none: the pending changes of a
// feed are bounded, and its reader takes them with Next.
package changes

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Source provides the current lists and owners, of a set or, for an empty name, of the root. Its methods
// are safe for concurrent use, except Refresh.
type Source interface {
	// Refresh reads the current lists of the backends. reported are the kinds that backends
	// reported as changed since the last call. kinds are those that changed, and seen, which may be
	// nil, returns those of them whose change a caller can see; nil means all. replaced is true if
	// owners of resources may have changed. It is not called concurrently.
	Refresh(reported backend.Kinds) (kinds backend.Kinds, seen func(set string, p mcp.Principal) backend.Kinds, replaced bool)
	// Look captures what a caller sees now, and returns a function that computes the digest of that
	// later. Neither calls backends, and Look is quick.
	Look(set string, p mcp.Principal) (digest func() mcp.Digest)
	// View returns what a caller sees. It may call backends. It fails when ctx ends.
	View(ctx context.Context, set string, p mcp.Principal) (View, error)
	// Differ returns the kinds of lists that two callers see differently. It may call backends. It
	// fails when ctx ends.
	Differ(ctx context.Context, set string, a, b mcp.Principal) (backend.Kinds, error)
}

// Revoker is a Source that knows, without calling backends, which watches are no longer allowed.
type Revoker interface {
	// Revoked reports whether a caller may not watch a resource at a backend. It does not block.
	Revoked(set string, p mcp.Principal, uri string, owner Owner) bool
}

// Hider is a Source that can hide resources from callers.
type Hider interface {
	// Hides reports whether updates of a resource are hidden from a caller who watches a resource
	// above it at a backend. It does not block.
	Hides(set string, p mcp.Principal, uri string, owner Owner) bool
}

// View is what one caller sees at one time. It is immutable.
type View interface {
	// Reportable returns the part of a filter's kinds that may change.
	Reportable(f mcp.Filter) backend.Kinds
	// Owner returns the backend at which a resource can be watched, or nil.
	Owner(uri string) Owner
}

// Owner is a backend at which resources are watched. Equal values are the same backend. It is safe
// for concurrent use.
type Owner interface {
	Name() string
	// Timeout bounds the opening of a watch.
	Timeout() time.Duration
	// Watch returns once the backend reports changes of the resource. It calls fn with the URI of
	// each change, which is the resource's own or one below it. stop ends the watch, is idempotent,
	// and must be called. A running call of fn may outlast it.
	Watch(ctx context.Context, p mcp.Principal, uri string, fn func(uri string)) (stop func(), err error)
}

var _ Owner = (*backend.Backend)(nil)

// Options are the settings of a Hub.
type Options struct {
	// Jitter is the maximum random delay before a changed list is reported. 0 or less disables it.
	Jitter time.Duration
	// WatchedURIs bounds the resources of one feed. Further ones are not honoured.
	WatchedURIs int
	// Logger receives the resources that cannot be watched.
	Logger *slog.Logger
}

// Hub holds the feeds of all subscribers. All methods are safe for concurrent use.
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

	// swapping serializes the swaps of Replace.
	swapping sync.Mutex
	// viewSlots bounds the feeds whose views are made concurrently.
	viewSlots chan struct{}
}

// New returns a Hub. It needs no closing: it ends with its feeds.
func New(source Source, opts Options) *Hub {
	return &Hub{source: source, opts: opts, feeds: make(map[*feed]struct{}), viewSlots: make(chan struct{}, watchesAtOnce)}
}

// Open opens a feed for one subscriber in a set; empty means the root. It waits until the backends watch the filter's URIs or
// refuse them, so that no later change is missed. A feed without URIs costs neither a call nor a
// goroutine. It fails when ctx ends.
func (h *Hub) Open(ctx context.Context, set string, p mcp.Principal, f mcp.Filter) (mcp.Feed, error) {
	feed := newFeed(h, set, p)
	h.add(feed)
	if _, err := feed.Update(ctx, f, false); err != nil {
		feed.Close()
		return nil, err
	}
	return feed, nil
}

// Changed records that a backend's catalog was replaced, and the kinds that it reported as changed.
// It does not block.
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

// Settle waits until the source was refreshed after every call of Changed so far. It fails when ctx
// ends.
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

// snapshot returns the open feeds.
func (h *Hub) snapshot() []*feed {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]*feed, 0, len(h.feeds))
	for f := range h.feeds {
		out = append(out, f)
	}
	return out
}

// refresh refreshes the source until no refresh is due, and notifies the feeds each time.
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

		kinds, seen, replaced := h.source.Refresh(kinds)
		if kinds != 0 {
			for _, f := range h.snapshot() {
				own := kinds
				if seen != nil && !f.outdated.Load() {
					own = seen(f.set, *f.principal.Load())
				}
				f.listsChanged(own)
			}
		}
		if replaced {
			h.rerouteSoon()
		}
	}
}

// rerouteSoon schedules a check of every watched URI: its owner may have changed or appeared.
func (h *Hub) rerouteSoon() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reroute = true
	if !h.routing {
		h.routing = true
		go h.rerouteAll()
	}
}

// rerouteAll ends the revoked watches of all feeds, and schedules a check of each feed's URIs. It
// runs beside refresh, and waits for no backend.
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
