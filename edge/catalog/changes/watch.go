package changes

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// watchesAtOnce bounds the watches that one update opens concurrently at one backend, and the feeds
// whose views are made concurrently.
const watchesAtOnce = 16

// watch is the watch of one URI of a feed at its owner.
type watch struct {
	uri   string
	owner Owner
	stop  func()
	ended bool // guarded by the feed's mu: later events are dropped
}

// Update implements mcp.Feed. It waits until the backends watch the new URIs or refuse them.
func (f *feed) Update(ctx context.Context, filter mcp.Filter, notify bool) (mcp.Filter, error) {
	f.updating.Lock()
	defer f.updating.Unlock()
	v, err := f.hub.source.View(ctx, f.set, *f.principal.Load())
	if err != nil {
		return mcp.Filter{}, err
	}
	filter.URIs = slices.Clone(filter.URIs)
	if most := f.hub.opts.WatchedURIs; len(filter.URIs) > most {
		filter.URIs = filter.URIs[:most]
	}
	f.asked = filter
	kinds := v.Reportable(filter)

	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return mcp.Filter{}, errFeedClosed
	}
	f.kinds, f.pending, f.order = kinds, f.pending&kinds, filter.URIs
	f.mu.Unlock()
	f.rewatch(ctx, v, notify)

	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.closed:
		return mcp.Filter{}, errFeedClosed
	case ctx.Err() != nil:
		return mcp.Filter{}, ctx.Err()
	}
	return f.honoured(), nil
}

// SetPrincipal implements mcp.Feed. It ends the watches that p may not have before it blocks.
func (f *feed) SetPrincipal(ctx context.Context, p mcp.Principal) error {
	next := &p
	f.next.Store(next)
	f.revoke(p)
	f.updating.Lock()
	defer f.updating.Unlock()
	kinds, err := f.hub.source.Differ(ctx, f.set, *f.principal.Load(), p)
	if err != nil { // It is unknown which lists differ: report all of them.
		kinds = backend.Tools | backend.Resources | backend.Prompts
	}
	f.principal.Store(&p)
	f.next.CompareAndSwap(next, nil)
	f.listsChanged(kinds)
	if len(f.asked.URIs) == 0 {
		return err
	}
	v, err := f.hub.source.View(ctx, f.set, p)
	if err != nil { // rerouteWatches, which has no deadline, ends the watches that p may not have.
		f.hub.rerouteSoon()
		return err
	}
	// Watches that p may not have end. The others continue with the previous credentials.
	f.rewatch(ctx, v, true)
	return nil
}

// rerouteSoon schedules rerouteWatches, unless the feed has no URIs.
func (f *feed) rerouteSoon() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.order) == 0 || f.closed {
		return
	}
	f.reroute = true
	if !f.routing {
		f.routing = true
		go f.rerouteWatches()
	}
}

// rerouteWatches looks up the owner of every URI again, while a reroute is due.
func (f *feed) rerouteWatches() {
	for {
		f.mu.Lock()
		if !f.reroute || f.closed {
			f.routing = false
			f.mu.Unlock()
			return
		}
		f.reroute = false
		f.mu.Unlock()
		f.updating.Lock()
		select {
		case f.hub.viewSlots <- struct{}{}:
			v, err := f.hub.source.View(f.ctx, f.set, *f.principal.Load())
			<-f.hub.viewSlots
			if err == nil {
				f.rewatch(f.ctx, v, true)
			}
		case <-f.ctx.Done():
		}
		f.updating.Unlock()
	}
}

// revoked reports whether the feed's principal, or the one that SetPrincipal is about to set, may
// not watch a resource at an owner.
func (f *feed) revoked(uri string, owner Owner) bool {
	source, ok := f.hub.source.(Revoker)
	if !ok {
		return false
	}
	next := f.next.Load()
	return source.Revoked(f.set, *f.principal.Load(), uri, owner) || next != nil && source.Revoked(f.set, *next, uri, owner)
}

// isVisible reports whether the feed's principal may learn of changes of a resource below a watched
// one.
func (f *feed) isVisible(uri string, owner Owner) bool {
	source, ok := f.hub.source.(Hider)
	return !ok || !source.Hides(f.set, *f.principal.Load(), uri, owner)
}

// revoke ends the watches that a principal may not have. It does not block. Watches that are being
// opened are checked once they are open.
func (f *feed) revoke(p mcp.Principal) {
	source, ok := f.hub.source.(Revoker)
	if !ok {
		return
	}
	f.mu.Lock()
	var ended []*watch
	for uri, w := range f.watches {
		if source.Revoked(f.set, p, uri, w.owner) {
			w.ended = true
			delete(f.watches, uri)
			ended = append(ended, w)
		}
	}
	if len(ended) > 0 {
		f.dropEnded()
	}
	f.mu.Unlock()
	for _, w := range ended {
		w.stop()
	}
}

// rewatch stops the watches that the filter or the view no longer has, and opens the missing ones.
// If notify is true, each opened watch counts as a change, because changes before it were not
// observed. updating is held.
func (f *feed) rewatch(ctx context.Context, v View, notify bool) {
	if len(f.asked.URIs) == 0 {
		f.stopStale(nil)
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(f.ctx, cancel)()

	owners := make(map[string]Owner, len(f.asked.URIs))
	for _, uri := range f.asked.URIs {
		if ctx.Err() != nil { // Finding an owner is slow if many templates nearly match.
			f.rerouteSoon()
			return
		}
		if owner := v.Owner(uri); owner != nil {
			owners[uri] = owner
		}
	}
	missing := map[Owner][]string{}
	for _, uri := range f.stopStale(owners) {
		missing[owners[uri]] = append(missing[owners[uri]], uri)
	}
	var wg sync.WaitGroup
	for owner, uris := range missing { // one that blocks does not delay the watches at others
		wg.Go(func() {
			room := make(chan struct{}, watchesAtOnce)
			for _, uri := range uris {
				room <- struct{}{}
				wg.Go(func() {
					defer func() { <-room }()
					f.watch(ctx, uri, owner, notify)
				})
			}
		})
	}
	wg.Wait()
}

// stopStale stops every watch that is not at its URI's owner, and returns the URIs that have an
// owner and no watch.
func (f *feed) stopStale(owners map[string]Owner) (missing []string) {
	var ended []*watch
	f.mu.Lock()
	for uri, w := range f.watches {
		if owners[uri] != w.owner {
			w.ended = true
			delete(f.watches, uri)
			ended = append(ended, w)
		}
	}
	f.dropEnded()
	for _, uri := range f.order {
		if owners[uri] != nil && f.watches[uri] == nil {
			missing = append(missing, uri)
		}
	}
	f.mu.Unlock()
	for _, w := range ended {
		w.stop()
	}
	return missing
}

// watch opens one watch. A refused URI is not honoured.
func (f *feed) watch(ctx context.Context, uri string, owner Owner, notify bool) {
	ctx, cancel := context.WithTimeout(ctx, owner.Timeout())
	defer cancel()
	w := &watch{uri: uri, owner: owner}
	stop, err := owner.Watch(ctx, *f.principal.Load(), uri, func(changed string) {
		if changed == uri || f.isVisible(changed, owner) {
			f.updated(w, changed)
		}
	})
	if err != nil {
		level := slog.LevelDebug
		if mcp.AsError(err).Kind == mcp.KindLimit {
			// a bound of the edge: operators should know which caller uses all watches
			level = slog.LevelWarn
		}
		f.hub.opts.Logger.Log(ctx, level, "a resource cannot be watched", "backend", owner.Name(), "uri", clip(uri),
			"principal", f.principal.Load().Subject, "error", err)
		return
	}
	w.stop = stop
	f.mu.Lock()
	if f.closed || f.revoked(uri, owner) { // meanwhile
		w.ended = true
		f.mu.Unlock()
		stop()
		return
	}
	if f.watches == nil {
		f.watches = make(map[string]*watch)
	}
	f.watches[uri] = w
	f.mu.Unlock()
	if notify {
		f.updated(w, uri)
	}
}

// clip bounds a client's text for logs.
func clip(s string) string {
	const most = 256
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
