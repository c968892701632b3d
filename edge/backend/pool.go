package backend

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// Pool is all backends of an edge: the configured ones, and the discovered ones. Both may be added
// and removed while it runs. All methods are safe for concurrent use.
type Pool struct {
	opts Options
	tune *tuning
	// all are the configured backends in their order, then the discovered ones by name. The slice
	// that it points at is never changed.
	all atomic.Pointer[[]*Backend]

	mu         sync.Mutex
	run        context.Context // of Start; nil before it
	closed     bool
	configured []*Backend
	discovered map[string]*Backend
	// prepared are the discovered backends that a Replacement has prepared and no Discover has used.
	prepared []*Backend
	// leaving counts the goroutines of removed backends, which end when gone is closed.
	leaving sync.WaitGroup
	gone    chan struct{}

	hookMu sync.RWMutex
	hooks  []func(*Backend, Kinds)
}

// NewPool makes the backends, in the order given, without connecting. It fails on a missing or
// repeated name, a missing or malformed target, and on values out of bounds.
func NewPool(cfgs []Config, opts Options) (*Pool, error) {
	tune := opts.tune
	if tune == nil {
		tune = &defaultTuning
	}
	p := &Pool{opts: opts, tune: tune, discovered: map[string]*Backend{}, gone: make(chan struct{})}
	p.publish()
	first, err := p.Prepare(cfgs)
	if err != nil {
		return nil, err
	}
	first.Apply(0)
	return p, nil
}

// publish replaces the published backends by the current ones. p.mu is locked, or p is not shared.
func (p *Pool) publish() {
	all := slices.Clone(p.configured)
	for _, name := range slices.Sorted(maps.Keys(p.discovered)) {
		all = append(all, p.discovered[name])
	}
	p.all.Store(&all)
}

// Start connects to every backend, describes, lists and watches it, until ctx ends or Close is
// called. It returns at once. Calling it again does nothing.
func (p *Pool) Start(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run != nil || p.closed {
		return
	}
	p.run = ctx
	for _, b := range p.Backends() {
		b.start(ctx)
	}
}

// Ready waits until every current backend was tried once: listed, or found to be unreachable. The
// error is ctx's, or says that the pool was closed.
func (p *Pool) Ready(ctx context.Context) error {
	for _, b := range p.Backends() {
		if err := b.AwaitTried(ctx); err != nil {
			return err
		}
	}
	return nil
}

// AwaitTried waits until the backend was tried once: listed, or found to be unreachable. The error
// is ctx's, or says that the backend was removed.
func (b *Backend) AwaitTried(ctx context.Context) error {
	if b.Tried() {
		return nil
	}
	select {
	case <-b.tried:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("backend %q did not answer in time: %w", b.cfg.Name, context.Cause(ctx))
	case <-b.group.ctx.Done():
		return fmt.Errorf("backend %q was removed before it answered", b.cfg.Name)
	}
}

// Tried reports whether the backend was listed, or found to be unreachable, since it was
// configured.
func (b *Backend) Tried() bool {
	select {
	case <-b.tried:
		return true
	default:
		return false
	}
}

// Untried returns the names of the backends that were neither listed nor found to be unreachable
// yet, in their order.
func (p *Pool) Untried() (names []string) {
	for _, b := range p.Backends() {
		if !b.Tried() {
			names = append(names, b.cfg.Name)
		}
	}
	return names
}

// Close ends all connections, feeds and watches, and returns when all goroutines have ended.
// Running calls fail. The catalogs stay readable.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.closed = true
	close(p.gone)
	all := p.Backends()
	for _, b := range all {
		b.group.cancel()
	}
	for _, b := range all {
		b.close()
	}
	p.leaving.Wait()
}

// Backends returns the current backends: the configured ones in their order, then the discovered
// ones by name. The slice must not be changed.
func (p *Pool) Backends() []*Backend { return *p.all.Load() }

// OnChange registers fn, which is called after the catalog of a backend was replaced, with the
// kinds whose lists differ, were added or were removed; and with all kinds after a backend was
// removed or a configured one was added. The set is empty if only the description, a hint or the
// scope differs. fn is also called if a private list is reported as changed, since the change may
// be visible to some principals only. Calls for one backend do not overlap, except for that of its
// removal. fn must not block, nor close the pool. A caller that registers before Start misses no
// change.
func (p *Pool) OnChange(fn func(b *Backend, kinds Kinds)) {
	p.hookMu.Lock()
	defer p.hookMu.Unlock()
	p.hooks = append(p.hooks[:len(p.hooks):len(p.hooks)], fn)
}

// notify reports a changed catalog of a backend. Those of backends that are not in the pool yet are
// not reported: they are when the backend is added.
func (p *Pool) notify(b *Backend, kinds Kinds) {
	if slices.Contains(p.Backends(), b) {
		p.report(b, kinds)
	}
}

func (p *Pool) report(b *Backend, kinds Kinds) {
	p.hookMu.RLock()
	hooks := p.hooks
	p.hookMu.RUnlock()
	for _, fn := range hooks {
		fn(b, kinds)
	}
}
