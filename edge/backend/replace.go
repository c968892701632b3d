package backend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Replacement is a prepared replacement of a pool's configured backends. Either Apply or Discard
// must be called, once. It is not safe for concurrent use.
type Replacement struct {
	pool *Pool
	// next are the new list of configured backends. fresh are the new ones among them. started is
	// true once these are connected.
	next, fresh []*Backend
	started     bool
	// prepared are the new discovered backends.
	prepared []*Backend
}

// Prepare creates the backends that will replace the configured ones, in the order of cfgs, without
// connecting. It reuses a configured backend with an equal name and revision. It fails on a missing
// or repeated name, including that of a discovered backend, a missing or malformed target, and
// values out of bounds.
func (p *Pool) Prepare(cfgs []Config) (*Replacement, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := &Replacement{pool: p}
	for _, cfg := range cfgs {
		b, err := p.prepare(cfg, r.next)
		if err != nil {
			r.closeFresh()
			return nil, err
		}
		if r.next = append(r.next, b); !slices.Contains(p.configured, b) {
			r.fresh = append(r.fresh, b)
		}
	}
	return r, nil
}

// prepare returns the configured backend with the settings, or a new one. before are the others
// that were prepared. p.mu is locked.
func (p *Pool) prepare(cfg Config, before []*Backend) (*Backend, error) {
	named := func(b *Backend) bool { return b.cfg.Name == cfg.Name }
	switch {
	case slices.ContainsFunc(before, named):
		return nil, fmt.Errorf("two backends are named %q: give each a name of its own", cfg.Name)
	case p.discovered[cfg.Name] != nil:
		return nil, fmt.Errorf("a discovered backend is named %q: give each a name of its own", cfg.Name)
	case p.closed:
		return nil, errClosed
	}
	if i := slices.IndexFunc(p.configured, named); i >= 0 && p.configured[i].cfg.Revision == cfg.Revision {
		return p.configured[i], nil
	}
	return newBackend(cfg, p.opts, p.tune, p.notify)
}

// PrepareServices creates the new ones of a set of discovered backends, as Prepare does. Await
// connects to them, and a later Discover uses them. Those that cannot be created are left to
// Discover. DiscardServices must be called after Discover, or instead of it.
func (r *Replacement) PrepareServices(set []Config) {
	p := r.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, cfg := range set {
		if known := p.discovered[cfg.Name]; p.closed || known != nil && known.cfg.Revision == cfg.Revision {
			continue
		}
		if b, err := newBackend(cfg, p.opts, p.tune, p.notify); err == nil {
			b.discovered = true
			r.prepared = append(r.prepared, b)
		}
	}
	p.prepared = append(p.prepared, r.prepared...)
}

// DiscardServices closes the backends of PrepareServices that no Discover has used.
func (r *Replacement) DiscardServices() {
	p := r.pool
	p.mu.Lock()
	unused := slices.DeleteFunc(r.prepared, func(b *Backend) bool { return !slices.Contains(p.prepared, b) })
	p.prepared = slices.DeleteFunc(p.prepared, func(b *Backend) bool { return slices.Contains(unused, b) })
	r.prepared = nil
	p.mu.Unlock()
	for _, b := range unused {
		b.close()
	}
}

// takePrepared returns the backend of PrepareServices with a name and a revision, which the caller
// then owns, or nil. The caller holds p.mu.
func (p *Pool) takePrepared(cfg *Config) *Backend {
	i := slices.IndexFunc(p.prepared, func(b *Backend) bool { return b.cfg.Name == cfg.Name && b.cfg.Revision == cfg.Revision })
	if i < 0 {
		return nil
	}
	b := p.prepared[i]
	p.prepared = slices.Delete(p.prepared, i, i+1)
	return b
}

// Await connects to the new backends, and waits until each was tried once: listed, or found to be
// unreachable. It returns the names of those that were not tried when ctx ended. Before the start
// of the pool it does nothing.
func (r *Replacement) Await(ctx context.Context) (untried []string) {
	p := r.pool
	p.mu.Lock()
	run := p.run
	p.mu.Unlock()
	if run == nil {
		return nil
	}
	r.start(run)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-p.gone:
			cancel()
		case <-ctx.Done():
		}
	}()
	for _, b := range slices.Concat(r.fresh, r.prepared) {
		if b.AwaitTried(ctx) != nil {
			untried = append(untried, b.cfg.Name)
		}
	}
	return untried
}

// start connects to the new backends, once.
func (r *Replacement) start(run context.Context) {
	if r.started {
		return
	}
	r.started = true
	for _, b := range slices.Concat(r.fresh, r.prepared) {
		b.start(run)
	}
}

// Apply replaces the configured backends. One that is not among the prepared ones gets no new
// calls, and its lists are not shown any more; it is closed when its running calls have ended, or
// after drain. The lists of a new one are shown once they were read, which may have happened in
// Await.
func (r *Replacement) Apply(drain time.Duration) {
	p := r.pool
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		r.Discard()
		return
	}
	gone := slices.DeleteFunc(slices.Clone(p.configured), func(b *Backend) bool { return slices.Contains(r.next, b) })
	p.configured = r.next
	p.publish()
	if p.run != nil {
		r.start(p.run)
	}
	for _, b := range gone {
		p.dismiss(b, drain)
	}
	p.mu.Unlock()
	for _, b := range slices.Concat(gone, r.fresh) {
		p.report(b, allKinds)
	}
}

// Discard closes the new backends.
func (r *Replacement) Discard() {
	r.DiscardServices()
	r.closeFresh()
}

func (r *Replacement) closeFresh() {
	for _, b := range r.fresh {
		b.close()
	}
}

// errClosed is the error of a change of a closed pool.
var errClosed = errors.New("the pool was closed")

// dismiss closes a removed backend in the background: when it has no more calls, after drain, or
// with the pool. p.mu is locked.
func (p *Pool) dismiss(b *Backend, drain time.Duration) {
	b.group.cancel()
	p.leaving.Go(func() {
		defer b.close()
		until, tick := time.After(max(drain, p.tune.lingering)), time.NewTicker(p.tune.lingering/10)
		defer tick.Stop()
		for began := time.Now(); ; {
			select {
			case <-tick.C:
				if b.calls.Load() == 0 && time.Since(began) >= p.tune.lingering {
					return
				}
			case <-until:
				return
			case <-p.gone:
				return
			}
		}
	})
}
