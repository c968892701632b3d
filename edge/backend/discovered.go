package backend

import (
	"errors"
	"fmt"
	"time"
)

// Discovered is a backend that may come and go while the edge runs.
type Discovered struct {
	Config
	// Revision tells settings apart: a backend of the same name and revision stays as it is, one of another revision is replaced.
	Revision string
}

// discovered is one that is in the pool.
type discovered struct {
	backend  *Backend
	revision string
}

// Discover replaces the backends that were discovered before by those given. One that is new is connected to, and shows what it lists
// once it was read. One that is not among them any more shows nothing from now on, and gets no new calls; it is closed when those that run
// there have ended, or after drain. What cannot be taken is left out, and the error says why: a name that a configured backend has,
// one that comes twice, a malformed target, or values out of bounds. Before Start nothing is connected to.
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

// dismiss closes a backend that was taken out: when nobody calls it any more, after drain, or with the pool.
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
