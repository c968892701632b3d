package auth

import (
	"sync"
	"time"
)

const (
	// tripAfter is the number of consecutive unanswered requests after which further ones fail at
	// once.
	tripAfter = 3
	// unanswered is the duration from which a failed request counts as unanswered. Faster failures
	// delay no caller.
	unanswered = time.Second
)

// breaker saves callers the wait for a server that hangs. After tripAfter consecutive unanswered
// requests it is open: no request is sent for retryMin; then one is sent as a probe. If it is not
// answered, the next follows after twice the time, up to retryMax. Any answer closes the breaker.
// The zero value is closed. It is safe for concurrent use.
type breaker struct {
	mu sync.Mutex
	// failures counts consecutive unanswered requests.
	failures int
	// pause is the time between probes; 0 means that the breaker is closed. next is when the next
	// probe may be sent.
	pause   time.Duration
	next    time.Time
	probing bool
}

// wait returns how long no request should be sent; 0 means that one may be.
func (b *breaker) wait(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.pause == 0:
		return 0
	case b.probing:
		return max(b.next.Sub(now), retryMin)
	}
	return max(b.next.Sub(now), 0)
}

// begin asks to send a request. If ok, the caller must call end after it.
func (b *breaker) begin(now time.Time) (probe, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.pause == 0:
		return false, true
	case b.probing || now.Before(b.next):
		return false, false
	}
	b.probing = true
	return true, true
}

// end records a request that lasted from began to now, and whether it failed.
func (b *breaker) end(probe, failed bool, began, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if probe {
		b.probing = false
	}
	switch {
	case !failed || now.Sub(began) < unanswered:
		b.failures, b.pause = 0, 0
	case probe && b.pause > 0:
		b.pause = min(2*b.pause, retryMax)
		b.next = now.Add(b.pause)
	case b.pause == 0:
		if b.failures++; b.failures >= tripAfter {
			b.pause = retryMin
			b.next = now.Add(b.pause)
		}
	}
}
