package backend

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Discover replaces the previously discovered backends by those of set. A backend with an equal
// name and revision is kept. A new one is connected, and its lists are shown once they were read. A
// removed one is hidden at once and gets no new calls; it is closed when its running calls have
// ended, or after drain. The error lists the omitted backends with the reasons: a name that a
// configured backend has, a duplicate, a malformed target, or values out of bounds. Nothing is
// connected before Start.
func (p *Pool) Discover(set []Config, drain time.Duration) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return errClosed
	}
	taken := map[string]string{}
	for _, b := range p.configured {
		taken[b.cfg.Name] = "a configured backend has that name"
	}
	next, fresh := map[string]*Backend{}, []*Backend(nil)
	var prepared []*Backend
	var errs []error
	for _, cfg := range set {
		if why, ok := taken[cfg.Name]; ok {
			errs = append(errs, fmt.Errorf("backend %q was discovered and is left out: %s", cfg.Name, why))
			continue
		}
		taken[cfg.Name] = "another one that was discovered has that name"
		if known := p.discovered[cfg.Name]; known != nil && known.cfg.Revision == cfg.Revision {
			next[cfg.Name] = known
			continue
		}
		if b := p.takePrepared(&cfg); b != nil { // It is connected, unless the pool has not started.
			next[cfg.Name] = b
			prepared = append(prepared, b)
			continue
		}
		b, err := newBackend(cfg, p.opts, p.tune, p.notify)
		if err != nil {
			errs = append(errs, fmt.Errorf("backend %q was discovered and is left out: %w", cfg.Name, err))
			continue
		}
		b.discovered = true
		next[cfg.Name] = b
		fresh = append(fresh, b)
	}
	var gone []*Backend
	for name, was := range p.discovered {
		if next[name] != was {
			gone = append(gone, was)
		}
	}
	p.discovered = next
	p.publish()
	for _, b := range fresh {
		if p.run != nil {
			b.start(p.run)
		}
	}
	for _, b := range gone {
		p.dismiss(b, drain)
	}
	p.mu.Unlock()
	for _, b := range slices.Concat(gone, prepared) {
		p.report(b, allKinds)
	}
	return errors.Join(errs...)
}
