package hook

import (
	"sync"
	"time"
)

// breaker spares a server that fails, and the requests that would wait for it:
//
//	closed ── maxFailures in a row ──► open ── pause ──► half-open ── an answer ──► closed
//	                                    ▲                    │
//	                                    └──── a failure ─────┘
//
// Half-open admits one question. The zero value is closed. Safe for concurrent use.
type breaker struct {
	mu       sync.Mutex
	failures int
	// until is the end of the pause; zero means closed. trying is true while half-open's question is asked.
	until  time.Time
	trying bool
}

// admit reports whether a question may be asked now. Each one that is admitted ends with ended.
func (b *breaker) admit(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.until.IsZero():
		return true
	case now.Before(b.until), b.trying:
		return false
	}
	b.trying = true
	return true
}

// result is how a question ended.
type result byte

const (
	answered result = iota
	failed
	// abandoned says nothing about the server.
	abandoned
)

// ended records how an admitted question ended. A question that was admitted before the breaker opened and fails later does not
// prolong the pause.
func (b *breaker) ended(r result, now time.Time, pause time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case r == answered:
		b.failures, b.until, b.trying = 0, time.Time{}, false
	case r == abandoned:
		b.trying = false
	case b.trying:
		b.until, b.trying = now.Add(pause), false
	case b.until.IsZero():
		if b.failures++; b.failures >= maxFailures {
			b.until = now.Add(pause)
		}
	}
}

// isOpen reports whether questions are refused, or one is tried.
func (b *breaker) isOpen() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.until.IsZero()
}
