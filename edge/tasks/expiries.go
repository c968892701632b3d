package tasks

import (
	"sync"
	"time"
)

// expiries has the timers that end the waits of tasks, at most one for each task. A task that was
// decided or cancelled here, or cancelled at another replica, has none, so that a client cannot
// accumulate timers by creating and cancelling tasks. Its map must not be nil. Safe for concurrent use.
type expiries struct {
	mu     sync.Mutex
	timers map[string]*time.Timer
}

// set calls fn after a duration, unless stop is called before. It replaces the task's earlier
// timer.
func (x *expiries) set(task string, after time.Duration, fn func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if earlier := x.timers[task]; earlier != nil {
		earlier.Stop()
	}
	var timer *time.Timer
	timer = time.AfterFunc(after, func() {
		x.mu.Lock()
		if x.timers[task] == timer {
			delete(x.timers, task)
		}
		x.mu.Unlock()
		fn()
	})
	x.timers[task] = timer
}

// stop stops the timer of a task.
func (x *expiries) stop(task string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if timer := x.timers[task]; timer != nil {
		timer.Stop()
		delete(x.timers, task)
	}
}
