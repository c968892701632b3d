package dispatch

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// watchesAtOnce bounds the watches that one update, or one rerouting, opens at a time.
const watchesAtOnce = 16

// watch is one URI of a feed, watched at its owner.
type watch struct {
	uri   string
	owner *backend.Backend
	stop  func()
	ended bool // guarded by the feed's mu: events that are on their way are no longer told
}

// Update implements mcp.Feed. It waits until the backends report on what is new, or refused.
func (f *feed) Update(ctx context.Context, filter mcp.Filter, tell bool) (mcp.Filter, error) {
	f.updating.Lock()
	defer f.updating.Unlock()
	v, err := f.d.views.of(ctx, f.principal)
	if err != nil {
		return mcp.Filter{}, err
	}
	filter.URIs = slices.Clone(filter.URIs)
	if most := f.d.opts.WatchedURIs; len(filter.URIs) > most {
		filter.URIs = filter.URIs[:most]
	}
	f.asked = filter
	kinds := v.reportable(filter)

	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return mcp.Filter{}, errFeedClosed
	}
	f.kinds, f.pending, f.order = kinds, f.pending&kinds, filter.URIs
	f.mu.Unlock()
	f.rewatch(ctx, v, tell)

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

// reportable is the part of a filter's kinds whose feature is served, or may be by a backend that is
// not known yet. The edge reports changes of any list, since backends come and go.
func (v *view) reportable(f mcp.Filter) (kinds backend.Kinds) {
	perhaps := v.incomplete()
	if f.Tools && (v.features.Tools || perhaps) {
		kinds |= backend.Tools
	}
	if f.Resources && (v.features.Resources || perhaps) {
		kinds |= backend.Resources
	}
	if f.Prompts && (v.features.Prompts || perhaps) {
		kinds |= backend.Prompts
	}
	return kinds
}

// watching reports whether there is a URI to reroute.
func (f *feed) watching() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.order) > 0 && !f.closed
}

// rerouteWatches looks at every URI again after the view changed.
func (f *feed) rerouteWatches() {
	f.updating.Lock()
	defer f.updating.Unlock()
	if v, err := f.d.views.of(f.ctx, f.principal); err == nil {
		f.rewatch(f.ctx, v, true)
	}
}

// rewatch ends the watches that the filter or the view no longer has and opens those that are missing.
// tell: what is opened counts as changed, since nobody watched it before. updating is held.
func (f *feed) rewatch(ctx context.Context, v *view, tell bool) {
	if len(f.asked.URIs) == 0 {
		f.drop(nil)
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(f.ctx, cancel)()

	owners := make(map[string]*backend.Backend, len(f.asked.URIs))
	for _, uri := range f.asked.URIs {
		if owner := v.resources.route(uri, f.d.report); owner != nil && canSubscribe(v.catalog(owner)) {
			owners[uri] = owner
		}
	}
	missing := f.drop(owners)
	var wg sync.WaitGroup
	room := make(chan struct{}, watchesAtOnce)
	for _, uri := range missing {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			f.watch(ctx, uri, owners[uri], tell)
		})
	}
	wg.Wait()
}

// drop ends every watch that is not at the owner it should be at, and returns the URIs to watch.
func (f *feed) drop(owners map[string]*backend.Backend) (missing []string) {
	var ended []*watch
	f.mu.Lock()
	for uri, w := range f.watches {
		if owners[uri] != w.owner {
			w.ended = true
			delete(f.watches, uri)
			ended = append(ended, w)
		}
	}
	f.forgetEnded()
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

// watch opens one watch. A refusal leaves the URI out of what is honoured.
func (f *feed) watch(ctx context.Context, uri string, owner *backend.Backend, tell bool) {
	ctx, cancel := context.WithTimeout(ctx, owner.Timeout())
	defer cancel()
	w := &watch{uri: uri, owner: owner}
	stop, err := owner.Watch(ctx, f.principal, uri, func(changed string) { f.updated(w, changed) })
	if err != nil {
		level := slog.LevelDebug
		if mcp.AsError(err).Kind == mcp.KindLimit {
			level = slog.LevelWarn // a bound of the edge: operators should know who takes all watches
		}
		f.d.opts.Logger.Log(ctx, level, "a resource cannot be watched", "backend", owner.Name(), "uri", clip(uri),
			"principal", f.principal.Subject, "error", err)
		return
	}
	w.stop = stop
	f.mu.Lock()
	if f.closed {
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
	if tell {
		f.updated(w, uri)
	}
}
