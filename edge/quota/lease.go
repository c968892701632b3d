package quota

import (
	"context"
	"sync"
	"time"
)

const (
	// leaseDivisor is the divisor for the size of a lease: a twentieth of the burst.
	leaseDivisor = 20
	// takeTimeout bounds the wait of a call for the store.
	takeTimeout = 250 * time.Millisecond
	// askAgain bounds the time for which a refusal by the store is cached, because another replica
	// may have returned calls.
	askAgain = time.Second
)

// size is the number of calls of a budget that are leased at a time.
func (b Budget) size() int { return max(1, b.Burst/leaseDivisor) }

// lease holds the calls that this replica has leased from the budget of one key.
type lease struct {
	key    string
	budget Budget

	mu sync.Mutex
	// left counts the leased calls that are unused. used counts those used since the last sweep.
	left, used int
	// ready is the time at which a call will be available. asked is the time from which the store is
	// requested again: before it, calls beyond the leased ones are refused. It is at most ready.
	ready, asked time.Time
	// taking is closed when the Take in flight has ended. It is nil if none is in flight.
	taking chan struct{}
	// ended marks a lease that was removed. Its users load another one.
	ended bool
}

// spend uses one call. ok is false if the lease has ended. wait is 0 if the call is admitted, and
// otherwise the time until one is available.
func (l *lease) spend(ctx context.Context, x *Limiter) (wait time.Duration, ok bool, err error) {
	for {
		l.mu.Lock()
		if l.ended {
			l.mu.Unlock()
			return 0, false, nil
		}
		now := time.Now()
		if l.left > 0 {
			l.left--
			l.used++
			more := l.budget.size() > 1 && l.left <= l.budget.size()/2 && l.taking == nil && !now.Before(l.asked)
			if more {
				l.taking = make(chan struct{})
			}
			l.mu.Unlock()
			if more {
				go func() { _, _, _ = l.take(ctx, x, 0) }()
			}
			return 0, true, nil
		}
		if now.Before(l.asked) {
			wait = l.ready.Sub(now)
			l.mu.Unlock()
			return wait, true, nil
		}
		if under := l.taking; under != nil {
			l.mu.Unlock()
			select {
			case <-under:
				continue
			case <-ctx.Done():
				return 0, true, ctx.Err()
			}
		}
		l.taking = make(chan struct{})
		l.mu.Unlock()
		granted, wait, err := l.take(ctx, x, 1)
		if err != nil {
			return x.spendShare(ctx, l.key, l.budget), true, nil
		}
		if granted > 0 {
			return 0, true, nil
		}
		return wait, true, nil
	}
}

// take leases calls from the store. The caller uses the first uses of them, and must have set
// taking.
func (l *lease) take(ctx context.Context, x *Limiter, uses int) (granted int, wait time.Duration, err error) {
	// The cancellation of the first caller must not fail the others that wait for the same Take.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeTimeout)
	defer cancel()
	granted, wait, err = x.store.Take(ctx, l.key, l.budget, l.budget.size())
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.taking)
	l.taking = nil
	switch now := time.Now(); {
	case err != nil:
		x.failed(err)
	case granted == 0:
		l.ready = now.Add(wait)
		l.asked = now.Add(min(wait, askAgain))
	default:
		x.answered()
		uses = min(uses, granted)
		l.left += granted - uses
		l.used += uses
		if l.ended { // retired meanwhile
			go x.giveBack(context.WithoutCancel(ctx), l, l.left)
			l.left = 0
		}
	}
	return granted, wait, err
}

// sweep returns the number of calls to return to the store: all except as many as were used since
// the last sweep, or all if all is true. ended is true if the lease has neither calls nor a cached
// refusal.
func (l *lease) sweep(now time.Time, all bool) (back int, ended bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	keep := l.used
	if all {
		keep = 0
	}
	back = max(0, l.left-keep)
	l.left -= back
	l.ended = l.used == 0 && l.left == 0 && l.taking == nil && !now.Before(l.asked)
	l.used = 0
	return back, l.ended
}
