package external

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// logInterval is how often it is logged, at most, that the server cannot be asked: one that fails now and then would be with
// each request.
const logInterval = time.Minute

// health logs that the server cannot be asked, and that it can be again. Safe for concurrent use.
type health struct {
	log *slog.Logger
	// follows is what becomes of requests meanwhile.
	follows string
	// failing: it was logged that the server cannot be asked, and not yet that it can be.
	failing atomic.Bool
	mu      sync.Mutex
	logged  time.Time // when a failure was logged last
}

// failed is told of a question without an answer.
func (h *health) failed(err error) {
	if h.failing.Load() {
		return
	}
	h.mu.Lock()
	due := !h.failing.Load() && (h.logged.IsZero() || time.Since(h.logged) >= logInterval)
	if due {
		h.logged = time.Now()
		h.failing.Store(true)
	}
	h.mu.Unlock()
	if due {
		h.log.Error("the policy server cannot be asked: until it can, what it would decide on is "+h.follows+", as policy.external.on-failure says", "error", err)
	}
}

// answered is told of a question with one.
func (h *health) answered() {
	if h.failing.Load() && h.failing.CompareAndSwap(true, false) {
		h.log.Info("the policy server can be asked again")
	}
}
