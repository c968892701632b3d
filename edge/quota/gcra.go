package quota

import "time"

// spend takes up to want calls of a budget. full is the time at which the budget is full again, the
// theoretical arrival time of GCRA. A time in the past, such as the zero time, means that it is
// full now. spend returns the number of calls that it took, the new time, and, if it took none, the
// wait until one is available.
//
// The script of the Redis store implements the same.
func (b Budget) spend(now, full time.Time, want int) (granted int, _ time.Time, wait time.Duration) {
	full = b.within(now, full)
	left := b.whole() - full.Sub(now) // in time
	if left < b.Interval {
		return 0, full, b.Interval - left
	}
	granted = min(want, int(left/b.Interval))
	return granted, full.Add(time.Duration(granted) * b.Interval), 0
}

// restore returns n calls to the budget.
func (b Budget) restore(now, full time.Time, n int) time.Time {
	return b.within(now, full.Add(-time.Duration(n)*b.Interval))
}

// within clamps full, which another budget of the same key may have set, to the range from now to
// the time at which b would be full again if it were empty now.
func (b Budget) within(now, full time.Time) time.Time {
	switch empty := now.Add(b.whole()); {
	case full.Before(now):
		return now
	case full.After(empty):
		return empty
	}
	return full
}

// whole is the time after which an empty budget is full again.
func (b Budget) whole() time.Duration { return b.Interval * time.Duration(b.Burst) }

// share is the budget of one of n replicas.
func (b Budget) share(n int) Budget {
	n = max(n, 1)
	return Budget{Interval: b.Interval * time.Duration(n), Burst: max(1, b.Burst/n)}
}
