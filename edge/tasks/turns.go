package tasks

import (
	"sync"
	"time"
)

// turns bounds the tasks that run here, and gives those that wait their turn: principals in turns, of each its oldest task first.
// Safe for concurrent use; init it.
type turns struct {
	mu        sync.Mutex
	max, each int
	running   int
	closed    bool
	// by has those who run or wait; order are those who wait and may run one more, whoever comes next first.
	by    map[string]*runner
	order []*runner
}

// runner is one principal.
type runner struct {
	key     string
	running int
	waiting []waiter
	// queued: it is in order.
	queued bool
}

// waiter is a task that waits for its turn, and since when.
type waiter struct {
	since time.Time
	begin func()
}

func (t *turns) init(max, each int) { t.max, t.each, t.by = max, each, map[string]*runner{} }

// take begins a task of a principal's when it is its turn, which may be at once. begin is not called under a lock, and not after
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

// leave says that a task of a principal's does not run any more.
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

// queue puts a principal in order that waits, and may run one more. t.mu is locked.
func (t *turns) queue(r *runner) {
	if !r.queued && len(r.waiting) > 0 && r.running < t.each {
		r.queued = true
		t.order = append(t.order, r)
	}
}

// next begins what may begin, and unlocks t.mu.
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

// waiting is how many tasks wait for their turn.
func (t *turns) waiting() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.by {
		n += len(r.waiting)
	}
	return n
}

// longest is since when the task waits that waits longest; zero: none waits.
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

// close begins nothing any more: what waits is left to other replicas.
func (t *turns) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
}
