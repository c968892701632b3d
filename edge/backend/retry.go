package backend

import (
	"context"
	"math/rand/v2"
	"time"
)

// retry is a jittered exponential backoff. Not safe for concurrent use.
type retry struct {
	lowest, highest, next time.Duration
}

func (b *Backend) newRetry() *retry {
	return &retry{lowest: b.tune.retryMin, highest: b.tune.retryMax, next: b.tune.retryMin}
}

// delay returns the time to wait now, and increases the next one.
func (r *retry) delay() time.Duration {
	d := r.next
	r.next = min(d*2, r.highest)
	return jitter(d)
}

// reset makes the next wait the shortest.
func (r *retry) reset() { r.next = r.lowest }

// resetAfter resets the backoff if the attempt lasted longer than the next wait.
func (r *retry) resetAfter(d time.Duration) {
	if d > r.next {
		r.reset()
	}
}

// wait waits for delay. It returns false if ctx ends.
func (r *retry) wait(ctx context.Context) bool {
	timer := time.NewTimer(r.delay())
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// jitter spreads a duration over 80 to 120 per cent of itself.
func jitter(d time.Duration) time.Duration {
	return d*4/5 + rand.N(max(d*2/5, 1)) // #nosec G404 -- a pause is no secret
}
