package reflect

import "time"

// A service that changes each time would otherwise be learned without pause. The pause after
// learning is at least the time that it took. It doubles with each change, up to maxPause, until
// the service has not changed for quietTime.
const (
	// minTaken is the least time that learning is assumed to take.
	minTaken = 100 * time.Millisecond
	// freeChanges is the number of changes before the pause begins to grow, maxDoublings the number
	// of times that it doubles.
	freeChanges  = 2
	maxDoublings = 6
	maxPause     = 5 * time.Minute
	quietTime    = 10 * time.Minute
)

// pace determines when a service may be learned again. The zero value allows it at once. It is not
// safe for concurrent use.
type pace struct {
	// changes counts the changes since the last quietTime without one; changed is the time of the last one.
	changes int
	changed time.Time
	// failures counts consecutive failed attempts; why is the last one's error.
	failures int
	why      error
	// next is the earliest time of the next learning.
	next time.Time
}

// failed records a failure other than an unreachable service. The pause doubles with each
// consecutive one.
func (p *pace) failed(began, now time.Time, why error) {
	p.failures++
	p.why = why
	p.next = now.Add(min(max(now.Sub(began), minTaken)<<min(p.failures-1, maxDoublings), maxPause))
}

// ended records a success. changed reports that the model differs from the previous one.
func (p *pace) ended(began, now time.Time, changed bool) {
	p.failures, p.why = 0, nil
	if now.Sub(p.changed) > quietTime {
		p.changes = 0
	}
	if changed {
		p.changes++
		p.changed = now
	}
	pause := max(now.Sub(began), minTaken)
	if p.changes <= freeChanges {
		p.next = now.Add(min(pause, maxPause))
		return
	}
	p.next = now.Add(min(pause<<min(p.changes-freeChanges, maxDoublings), maxPause))
}

// wait returns the pause before the next attempt; 0 means that it may begin.
func (p *pace) wait(now time.Time) time.Duration { return max(p.next.Sub(now), 0) }
