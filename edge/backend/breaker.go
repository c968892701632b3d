package backend

import (
	"sync"
	"time"
)

// breaker remembers that the lists of single principals cannot be read, so that not every request
// waits to find out. While it is open, one request at a time tries. The zero value is closed. Safe
// for concurrent use.
type breaker struct {
	mu    sync.Mutex
	err   error         // why it is open; nil if it is closed
	pause time.Duration // until the next trial
	until time.Time
}

// shortestPause and longestPause bound the time for which a breaker stays open.
const shortestPause, longestPause = time.Second, 30 * time.Second

// refuses returns the error for which it is open. nil lets the caller try; if the breaker is open,
// others are refused for the duration of that trial.
func (b *breaker) refuses(trial time.Duration) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.err == nil:
		return nil
	case time.Now().Before(b.until):
		return b.err
	}
	b.until = time.Now().Add(trial)
	return nil
}

// failed opens the breaker. Failures of requests that began before it was open count once.
func (b *breaker) failed(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if b.err != nil && now.Before(b.until.Add(-b.pause/2)) {
		return
	}
	b.pause = min(max(2*b.pause, shortestPause), longestPause)
	b.err, b.until = err, now.Add(b.pause)
}

// worked closes the breaker.
func (b *breaker) worked() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err, b.pause = nil, 0
}
