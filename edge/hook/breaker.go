package hook

import (
	"sync"
	"time"
)

// breaker spares a server that does not answer, and the requests that would wait for it. Any answer is one, also a status, or a verdict that
// cannot be used: the sender of a request may be able to provoke these, and must not decide what happens to others.
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

// admit reports whether a question may be asked now, and whether it is the one that half-open admits. Each one that is admitted ends
// with ended.
func (b *breaker) admit(now time.Time) (ok, isTrial bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.until.IsZero():
		return true, false
	case now.Before(b.until), b.trying:
		return false, false
	}
	b.trying = true
	return true, true
}

// result is how a question ended.
type result byte

const (
	answered result = iota
	// failed means that there was no answer.
	failed
	// abandoned says nothing about the server.
	abandoned
)

// ended records how an admitted question ended. One that was admitted before the breaker opened, and fails or is abandoned later, neither
// prolongs the pause nor ends the trial.
func (b *breaker) ended(r result, isTrial bool, now time.Time, pause time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case r == answered:
		b.failures, b.until, b.trying = 0, time.Time{}, false
	case b.until.IsZero():
		if r == failed {
			if b.failures++; b.failures >= maxFailures {
				b.until = now.Add(pause)
			}
		}
	case !isTrial:
	default:
		if b.trying = false; r == failed {
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
