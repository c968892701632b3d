package quota

import "time"

// spend takes up to want calls of a budget. full is when the budget is whole again (the theoretical arrival time of
// GCRA); a time that has passed, the zero time too, says that it is whole. It returns how many were taken, the new time,
// and, if none was, how long it takes until one is there.
//
// The script of the Redis store does the same.
func (b Budget) spend(now, full time.Time, want int) (granted int, _ time.Time, wait time.Duration) {
	full = b.within(now, full)
	left := b.whole() - full.Sub(now) // time's worth of calls
	if left < b.Interval {
		return 0, full, b.Interval - left
	}
	granted = min(want, int(left/b.Interval))
	return granted, full.Add(time.Duration(granted) * b.Interval), 0
}

// restore gives back n calls.
func (b Budget) restore(now, full time.Time, n int) time.Time {
	return b.within(now, full.Add(-time.Duration(n)*b.Interval))
}

// within is the time at which the budget is whole again, for one that another budget may have had before it: no sooner than
// now, no later than when it is empty now.
func (b Budget) within(now, full time.Time) time.Time {
	switch empty := now.Add(b.whole()); {
	case full.Before(now):
		return now
	case full.After(empty):
		return empty
	}
	return full
}

// whole is how long an empty budget takes to be whole again.
func (b Budget) whole() time.Duration { return b.Interval * time.Duration(b.Burst) }

// share is a replica's part of a budget that n replicas have.
func (b Budget) share(n int) Budget {
	n = max(n, 1)
	return Budget{Interval: b.Interval * time.Duration(n), Burst: max(1, b.Burst/n)}
}
