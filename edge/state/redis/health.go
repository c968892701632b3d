package redis

import (
	"sync"
	"time"
)

// health is whether Redis answers and stores heartbeats, and since when. It is safe for concurrent use.
type health struct {
	mu sync.Mutex
	// beating means that the last heartbeat was stored.
	beating bool
	// open is the number of open breakers.
	open  int
	since time.Time
}

func (h *health) healthy() bool { return h.beating && h.open == 0 }

// change applies a change and notes the time if it is one of healthy.
func (h *health) change(apply func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.healthy()
	apply()
	if h.healthy() != before {
		h.since = time.Now()
	}
}

// beat records whether a heartbeat was stored.
func (h *health) beat(stored bool) { h.change(func() { h.beating = stored }) }

// trip adds n, which may be negative, to the open breakers.
func (h *health) trip(n int) { h.change(func() { h.open += n }) }

func (h *health) read() (healthy bool, since time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.healthy(), h.since
}
