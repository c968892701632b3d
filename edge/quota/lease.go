package quota

import (
	"context"
	"sync"
	"time"
)

const (
	// leasePart is the part of a burst that a replica leases at a time: a twentieth.
	leasePart = 20
	// takeTimeout bounds what a call waits for the store.
	takeTimeout = 250 * time.Millisecond
	// askAgain is the longest that a refusal is believed without asking the store: another replica may have given calls
	// back.
	askAgain = time.Second
)

// size is how many calls of a budget are leased at a time.
func (b Budget) size() int { return max(1, b.Burst/leasePart) }

// lease is what this replica has of one key's budget.
type lease struct {
	key    string
	budget Budget

	mu sync.Mutex
	// left are the calls that were taken from the store and not used. used counts those used since the last sweep.
	left, used int
	// ready is when a call will be there. Until asked, which is no later, calls are refused without asking the store.
	ready, asked time.Time
	// taking is closed when the Take that is under way has ended; nil: none is.
	taking chan struct{}
	// ended: the lease was removed, and another one is to be used.
	ended bool
}

// spend uses one call. ok is false if the lease has ended. wait is how long it takes until a call is there, 0 if it was
// used.
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

// take leases calls, of which the caller uses so many at once. The caller has set taking.
func (l *lease) take(ctx context.Context, x *Limiter, uses int) (granted int, wait time.Duration, err error) {
	// Whoever asked may leave: the others that wait need the calls as well.
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

// sweep returns what is to be given back: all but as much as was used since the last sweep. ended: the lease holds
// nothing and knows nothing any more.
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
