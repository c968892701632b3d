package reflect

import "time"

// A service that changes at each learning costs its learning again and again. The pause after one is at least what it took. It doubles with each change
// up to maxPause, until the service did not change for calm.
const (
	// leastTaken is what a learning is taken to last at the least.
	leastTaken = 100 * time.Millisecond
	// freeChanges is after how many changes the pause begins to grow, mostDoublings how often it doubles.
	freeChanges   = 2
	mostDoublings = 6
	maxPause      = 5 * time.Minute
	calm          = 10 * time.Minute
)

// pace says when a service may be learned anew. The zero value lets it be at once. It is not safe for concurrent use.
type pace struct {
	// changes counts the learnings that found a change, since the service was calm; changed is when the last one ended.
	changes int
	changed time.Time
	// failures counts the learnings that failed since the last one that did not, of which why is the last one's error.
	failures int
	why      error
	// next is the earliest time of the next learning.
	next time.Time
}

// failed records a learning that failed for another reason than an unreachable service. The pause doubles with each such failure in a row.
func (p *pace) failed(began, now time.Time, why error) {
	p.failures++
	p.why = why
	p.next = now.Add(min(max(now.Sub(began), leastTaken)<<min(p.failures-1, mostDoublings), maxPause))
}

// ended records a learning that succeeded. changed is whether its model differs from the one before.
func (p *pace) ended(began, now time.Time, changed bool) {
	p.failures, p.why = 0, nil
	if now.Sub(p.changed) > calm {
		p.changes = 0
	}
	if changed {
		p.changes++
		p.changed = now
	}
	pause := max(now.Sub(began), leastTaken)
	if p.changes <= freeChanges {
		p.next = now.Add(min(pause, maxPause))
		return
	}
	p.next = now.Add(min(pause<<min(p.changes-freeChanges, mostDoublings), maxPause))
}

// wait is how long the next learning has to wait; 0: it has not.
func (p *pace) wait(now time.Time) time.Duration { return max(p.next.Sub(now), 0) }
