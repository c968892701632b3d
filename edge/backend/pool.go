package backend

import (
	"context"
	"fmt"
	"sync"
)

// Pool is all backends of an edge. All methods are safe for concurrent use.
type Pool struct {
	backends []*Backend

	mu      sync.Mutex
	started bool
	closed  bool

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
	p := &Pool{}
	seen := map[string]bool{}
	for _, cfg := range cfgs {
		b, err := newBackend(cfg, opts, tune, p.notify)
		if err == nil && seen[cfg.Name] {
			b.close()
			err = fmt.Errorf("two backends are named %q: give each a name of its own", cfg.Name)
		}
		if err != nil {
			p.Close()
			return nil, err
		}
		seen[cfg.Name] = true
		p.backends = append(p.backends, b)
	}
	return p, nil
}

// Start connects to every backend, describes, lists and watches it, until ctx ends or Close is
// called. It returns at once. Calling it again does nothing.
func (p *Pool) Start(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.started || p.closed {
		return
	}
	p.started = true
	for _, b := range p.backends {
		b.start(ctx)
	}
}

// Ready waits until every backend was tried once: listed, or found to be unreachable. The error is
// ctx's, or says that the pool was closed.
func (p *Pool) Ready(ctx context.Context) error {
	for _, b := range p.backends {
		select {
		case <-b.tried:
			continue
		default:
		}
		select {
		case <-b.tried:
		case <-ctx.Done():
			return fmt.Errorf("backend %q did not answer in time: %w", b.cfg.Name, context.Cause(ctx))
		case <-b.group.ctx.Done():
			return fmt.Errorf("the pool was closed before backend %q answered", b.cfg.Name)
		}
	}
	return nil
}

// Untried names the backends that were neither listed nor found to be unreachable yet, in their order.
func (p *Pool) Untried() (names []string) {
	for _, b := range p.backends {
		select {
		case <-b.tried:
		default:
			names = append(names, b.cfg.Name)
		}
	}
	return names
}

// Close ends all connections, feeds and watches, and returns when no goroutine is left. Calls still
// running fail. The catalogs stay readable.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.closed = true
	for _, b := range p.backends {
		b.group.cancel()
	}
	for _, b := range p.backends {
		b.close()
	}
}

// Backends returns the backends in configuration order. The slice is fixed and must not be changed.
func (p *Pool) Backends() []*Backend { return p.backends }

// OnChange has fn called after the catalog of a backend was replaced, with the kinds whose lists now
// differ, came or went. The set is empty when only the description, a hint or the scope differs. For
// a private list that is said to have changed fn is called too, since the change may be visible to
// some principals only. Calls for one backend do not overlap; fn must not block, nor close the pool.
// Whoever registers before Start misses nothing.
func (p *Pool) OnChange(fn func(b *Backend, kinds Kinds)) {
	p.hookMu.Lock()
	defer p.hookMu.Unlock()
	p.hooks = append(p.hooks[:len(p.hooks):len(p.hooks)], fn)
}

func (p *Pool) notify(b *Backend, kinds Kinds) {
	p.hookMu.RLock()
	hooks := p.hooks
	p.hookMu.RUnlock()
	for _, fn := range hooks {
		fn(b, kinds)
	}
}
