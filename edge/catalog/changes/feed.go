package changes

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// errFeedClosed is the error of Next once the feed is closed.
var errFeedClosed = errors.New("the feed of changes is closed")

// maxPendingURIs bounds the pending changed URIs of a feed. Beyond it, a change below a watched
// resource is reported as a change of that resource.
const maxPendingURIs = 1024

// feed is one subscriber's queue of changes. It implements mcp.Feed.
type feed struct {
	hub *Hub
	// set is the set whose changes the feed reports; empty means the root.
	set       string
	principal atomic.Pointer[mcp.Principal]
	// outdated means that the principal lacks data that decides on lists.
	outdated atomic.Bool
	// next is the principal that SetPrincipal is about to set. nil means none.
	next atomic.Pointer[mcp.Principal]
	// ctx ends with the feed, and with it the wait for backends.
	ctx   context.Context
	close context.CancelFunc
	// wake has capacity 1. It holds a token when a change is pending or the feed was closed.
	wake chan struct{}

	// updating is held while watches are opened and closed, which waits for backends.
	updating sync.Mutex
	asked    mcp.Filter // guarded by updating

	mu       sync.Mutex
	closed   bool
	routing  bool              // a rerouteWatches goroutine exists
	reroute  bool              // a reroute is due
	kinds    backend.Kinds     // honoured
	order    []string          // the filter's URIs, watched or not
	watches  map[string]*watch // by URI, the open ones
	pending  backend.Kinds
	due      time.Time    // when the pending kinds are reported
	changed  []changedURI // in the order of the first change
	isQueued map[string]struct{}
}

// changedURI is a pending update and the watch that reported it.
type changedURI struct {
	uri string
	by  *watch
}

var _ mcp.Feed = (*feed)(nil)

func newFeed(h *Hub, set string, p mcp.Principal) *feed {
	f := &feed{hub: h, set: set, wake: make(chan struct{}, 1)}
	f.principal.Store(&p)
	f.ctx, f.close = context.WithCancel(context.Background())
	return f
}

// Honoured implements mcp.Feed.
func (f *feed) Honoured() mcp.Filter {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.honoured()
}

func (f *feed) honoured() mcp.Filter {
	out := mcp.Filter{
		Tools: f.kinds.Has(backend.Tools), Resources: f.kinds.Has(backend.Resources), Prompts: f.kinds.Has(backend.Prompts),
	}
	for _, uri := range f.order {
		if f.watches[uri] != nil {
			out.URIs = append(out.URIs, uri)
		}
	}
	return out
}

// Next implements mcp.Feed. It returns updated resources at once, changed lists after their jitter.
func (f *feed) Next(ctx context.Context, idle time.Duration) ([]mcp.Change, error) {
	now := time.Now()
	for end := now.Add(idle); ; now = time.Now() {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		out, wait, err := f.take(now)
		if err != nil || len(out) > 0 {
			return out, err
		}
		left := end.Sub(now)
		if left <= 0 {
			return nil, nil
		}
		if wait == 0 {
			wait = left
		}
		if err := f.sleep(ctx, min(wait, left)); err != nil {
			return nil, err
		}
	}
}

// sleep waits until a change becomes pending, for at most wait. Tens of thousands of streams block
// here, so it creates no context.
func (f *feed) sleep(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-f.wake:
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// take returns the changes that are due, or how long to wait for the pending ones.
func (f *feed) take(now time.Time) (out []mcp.Change, wait time.Duration, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, 0, errFeedClosed
	}
	if f.pending != 0 {
		if wait = f.due.Sub(now); wait <= 0 {
			for _, k := range [...]struct {
				kind   backend.Kinds
				change mcp.ChangeKind
			}{{backend.Tools, mcp.ToolsChanged}, {backend.Resources, mcp.ResourcesChanged}, {backend.Prompts, mcp.PromptsChanged}} {
				if f.pending.Has(k.kind) {
					out = append(out, mcp.Change{Kind: k.change})
				}
			}
			f.pending = 0
		}
	}
	for _, c := range f.changed {
		out = append(out, mcp.Change{Kind: mcp.ResourceUpdated, URI: c.uri})
	}
	f.changed, f.isQueued = nil, nil
	return out, max(wait, 0), nil
}

// listsChanged marks the kinds as pending that the filter honours.
func (f *feed) listsChanged(kinds backend.Kinds) {
	f.mu.Lock()
	defer f.mu.Unlock()
	kinds &= f.kinds
	if kinds == 0 || f.closed {
		return
	}
	if f.pending == 0 {
		f.due = time.Now()
		if jitter := f.hub.opts.Jitter; jitter > 0 {
			f.due = f.due.Add(rand.N(jitter)) // #nosec G404 -- a pause is no secret
		}
	}
	f.pending |= kinds
	f.wakeReader()
}

// updated queues a changed URI that the watch w reported.
func (f *feed) updated(w *watch, uri string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || w.ended {
		return
	}
	if _, queued := f.isQueued[uri]; !queued && len(f.changed) >= maxPendingURIs {
		uri = w.uri
	}
	if _, queued := f.isQueued[uri]; !queued {
		if f.isQueued == nil {
			f.isQueued = make(map[string]struct{})
		}
		f.isQueued[uri] = struct{}{}
		f.changed = append(f.changed, changedURI{uri: uri, by: w})
	}
	f.wakeReader()
}

// dropEnded drops the pending updates of ended watches, so that a new watch can report them again.
// mu is held.
func (f *feed) dropEnded() {
	f.changed = slices.DeleteFunc(f.changed, func(c changedURI) bool {
		if c.by.ended {
			delete(f.isQueued, c.uri)
		}
		return c.by.ended
	})
}

// wakeReader makes Next check for pending changes. mu is held.
func (f *feed) wakeReader() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Close implements mcp.Feed. It does not wait for a running Update, which then fails.
func (f *feed) Close() {
	f.hub.remove(f)
	f.close()
	f.mu.Lock()
	f.closed = true
	stops := make([]*watch, 0, len(f.watches))
	for _, w := range f.watches {
		w.ended = true
		stops = append(stops, w)
	}
	f.watches, f.pending, f.changed, f.isQueued = nil, 0, nil, nil
	f.wakeReader()
	f.mu.Unlock()
	for _, w := range stops {
		w.stop()
	}
}
