package tasks

import (
	"sync"
	"time"
)

// turns bounds the tasks that run here, and schedules queued tasks: principals in turns, the oldest task of each first. Safe for
// concurrent use; call init first.
type turns struct {
	mu        sync.Mutex
	max, each int
	running   int
	closed    bool
	// by has the principals with running or waiting tasks; order has those with waiting tasks that may run one more, the next one
	// first.
	by    map[string]*runner
	order []*runner
}

// runner is one principal.
type runner struct {
	key     string
	running int
	waiting []waiter
	// queued is true if it is in order.
	queued bool
}

// waiter is a task that waits for its turn, and the start of its wait.
type waiter struct {
	since time.Time
	begin func()
}

func (t *turns) init(max, each int) { t.max, t.each, t.by = max, each, map[string]*runner{} }

// take begins a task of a principal when it is its turn, which may be at once. begin is not called under a lock, and not after
// close.
func (t *turns) take(key string, x *execution, begin func()) {
	t.mu.Lock()
	r := t.by[key]
	if r == nil {
		r = &runner{key: key}
		t.by[key] = r
	}
	x.leave = sync.OnceFunc(func() { t.leave(r) })
	r.waiting = append(r.waiting, waiter{time.Now(), begin})
	t.queue(r)
	t.next()
}

// leave records that a task of a principal no longer runs.
func (t *turns) leave(r *runner) {
	t.mu.Lock()
	r.running--
	t.running--
	if r.running == 0 && len(r.waiting) == 0 {
		delete(t.by, r.key)
	}
	t.queue(r)
	t.next()
}

// queue adds a principal to order if it has waiting tasks and may run one more. t.mu is locked.
func (t *turns) queue(r *runner) {
	if !r.queued && len(r.waiting) > 0 && r.running < t.each {
		r.queued = true
		t.order = append(t.order, r)
	}
}

// next begins the tasks whose turn it is, and unlocks t.mu.
func (t *turns) next() {
	var begin []waiter
	for t.running < t.max && len(t.order) > 0 && !t.closed {
		r := t.order[0]
		t.order, r.queued = t.order[1:], false
		begin = append(begin, r.waiting[0])
		r.waiting = r.waiting[1:]
		r.running++
		t.running++
		t.queue(r)
	}
	t.mu.Unlock()
	for _, w := range begin {
		w.begin()
	}
}

// waiting returns how many tasks wait for their turn.
func (t *turns) waiting() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.by {
		n += len(r.waiting)
	}
	return n
}

// longest returns the start of the longest wait; zero if no task waits.
func (t *turns) longest() (since time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.by {
		if len(r.waiting) > 0 && (since.IsZero() || r.waiting[0].since.Before(since)) {
			since = r.waiting[0].since
		}
	}
	return since
}

// close stops the scheduling: waiting tasks are left to other replicas.
func (t *turns) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
}
