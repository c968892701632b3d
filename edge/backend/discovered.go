package backend

import (
	"errors"
	"fmt"
	"time"
)

// Discovered is a backend that may be added and removed while the edge runs.
type Discovered struct {
	Config
	// Revision identifies the settings: a backend with the same name and revision stays unchanged; one with another revision is replaced.
	Revision string
}

// discovered is a discovered backend in the pool.
type discovered struct {
	backend  *Backend
	revision string
}

// Discover replaces the previously discovered backends by those given. A new one is connected, and its lists are shown once they were
// read. One that is no longer given is hidden at once and gets no new calls; it is closed when its running calls have ended, or after
// drain. The error says what is left out and why: a name that a configured backend has, a duplicate, a malformed target, or values out of
// bounds. Before Start nothing is connected.
func (p *Pool) Discover(set []Discovered, drain time.Duration) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return errors.New("the pool was closed")
	}
	taken := map[string]string{}
	for _, b := range p.configured {
		taken[b.cfg.Name] = "a configured backend has that name"
	}
	next, fresh := map[string]*discovered{}, []*Backend(nil)
	var errs []error
	for _, d := range set {
		if why, ok := taken[d.Name]; ok {
			errs = append(errs, fmt.Errorf("backend %q was discovered and is left out: %s", d.Name, why))
			continue
		}
		taken[d.Name] = "another one that was discovered has that name"
		if known := p.discovered[d.Name]; known != nil && known.revision == d.Revision {
			next[d.Name] = known
			continue
		}
		b, err := newBackend(d.Config, p.opts, p.tune, p.notify)
		if err != nil {
			errs = append(errs, fmt.Errorf("backend %q was discovered and is left out: %w", d.Name, err))
			continue
		}
		b.discovered = true
		next[d.Name] = &discovered{b, d.Revision}
		fresh = append(fresh, b)
	}
	var out []*Backend
	for name, was := range p.discovered {
		if next[name] != was {
			out = append(out, was.backend)
		}
	}
	p.discovered = next
	p.publish()
	for _, b := range fresh {
		if p.run != nil {
			b.start(p.run)
		}
	}
	for _, b := range out {
		b.group.cancel()
		p.leaving.Go(func() { p.dismiss(b, drain) })
	}
	p.mu.Unlock()
	for _, b := range out {
		p.notify(b, Tools|Resources|Prompts)
	}
	return errors.Join(errs...)
}

// dismiss closes a removed backend: when it has no more calls, after drain, or with the pool.
func (p *Pool) dismiss(b *Backend, drain time.Duration) {
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
}
