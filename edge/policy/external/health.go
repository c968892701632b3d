package external

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// logInterval is the shortest interval of log lines about failures: a server that fails
// occasionally would otherwise cause one for each request.
const logInterval = time.Minute

// health logs when the policy server begins to fail, and when it recovers. Safe for concurrent use.
type health struct {
	log *slog.Logger
	// follows describes what happens to requests meanwhile.
	follows string
	// failing reports that a failure was logged, and no recovery since.
	failing atomic.Bool
	mu      sync.Mutex
	logged  time.Time // of the last logged failure
}

// failed records a failed request.
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

// answered records a request with an answer.
func (h *health) answered() {
	if h.failing.Load() && h.failing.CompareAndSwap(true, false) {
		h.log.Info("the policy server can be asked again")
	}
}
