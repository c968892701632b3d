package auth

import (
	"sync"
	"time"
)

const (
	// tripAfter is how many requests in a row have to go unanswered before others fail at once.
	tripAfter = 3
	// unanswered is how long a request was under way that counts as unanswered when it fails; what fails sooner delays nobody.
	unanswered = time.Second
)

// breaker spares callers the wait for a server that hangs. After tripAfter unanswered requests in a row it is open: no request is
// sent for retryMin; then one is, as a probe, and if that is not answered either, the next one after twice as long, up to retryMax.
// Whatever is answered closes it. The zero value is closed. Safe for concurrent use.
type breaker struct {
	mu sync.Mutex
	// failures counts unanswered requests in a row.
	failures int
	// pause is the time between probes; 0: the breaker is closed. next is when the next one may be sent.
	pause   time.Duration
	next    time.Time
	probing bool
}

// wait is how long no request is worth trying; 0: one may be.
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

// begin asks to send a request; if ok, the caller calls end when it has ended.
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

// end notes a request that was under way from began to now, and failed or not.
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
