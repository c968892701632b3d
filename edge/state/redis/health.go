package redis

import (
	"errors"
	"sync"
	"time"
)

// health records whether Redis responds and stores heartbeats, and since when. It is safe for
// concurrent use.
type health struct {
	mu sync.Mutex
	// beating means that the last heartbeat was stored, and no breaker has opened since.
	beating bool
	// open is the number of open breakers.
	open  int
	since time.Time
	// was means that it was healthy before.
	was bool
	// cause is why it is not healthy, if that is known.
	cause error
}

func (h *health) healthy() bool { return h.beating && h.open == 0 }

// change applies a change and notes the time if it is one of healthy. It reports whether health
// came back.
func (h *health) change(apply func()) (back bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.healthy()
	apply()
	now := h.healthy()
	if now != before {
		h.since = time.Now()
	}
	back = now && !before && h.was
	if now {
		h.was, h.cause = true, nil
	}
	return back
}

// stored records that a heartbeat was stored, and reports whether health came back.
func (h *health) stored() (back bool) { return h.change(func() { h.beating = true }) }

// failed records that a heartbeat could not be stored, or that Redis cannot be used at the start.
func (h *health) failed(err error) {
	h.change(func() {
		h.beating = false
		// The error that opened a breaker is more specific.
		if h.cause == nil || !errors.Is(err, errBreakerOpen) {
			h.cause = err
		}
	})
}

// breakerOpened records that a breaker opened because of an error.
func (h *health) breakerOpened(err error) {
	h.change(func() {
		h.open++
		h.beating, h.cause = false, err
	})
}

// breakerClosed records that a breaker closed, and reports whether health came back.
func (h *health) breakerClosed() (back bool) { return h.change(func() { h.open-- }) }

// read returns whether Redis is healthy, since when, and why it is not.
func (h *health) read() (healthy bool, since time.Time, cause error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.healthy(), h.since, h.cause
}
