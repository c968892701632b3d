package tasks

import (
	"sync"
	"time"
)

// turns bounds the tasks that run here, and schedules queued tasks: principals in turns, the oldest
// task of each first. Safe for concurrent use; call init first.
type turns struct {
	mu        sync.Mutex
	max, each int
	running   int
	// by has the principals with running or waiting tasks. order has those with waiting tasks that
	// may run one more, the next one first.
	by    map[string]*queue
	order []*queue
}

// queue has the tasks of one principal.
type queue struct {
	key     string
	running int
	waiting []waiter
	// queued is true if the principal is in order.
	queued bool
}

// waiter is a task that waits for its turn, and the start of its wait.
type waiter struct {
	since time.Time
	begin func()
}

func (t *turns) init(max, each int) { t.max, t.each, t.by = max, each, map[string]*queue{} }

// take begins a task of a principal when it is its turn, which may be at once. begin is called
// without the lock, and never after close.
func (t *turns) take(key string, x *runner, begin func()) {
	t.mu.Lock()
	q := t.by[key]
	if q == nil {
		q = &queue{key: key}
		t.by[key] = q
	}
	x.leave = sync.OnceFunc(func() { t.leave(q) })
	q.waiting = append(q.waiting, waiter{time.Now(), begin})
	t.enqueue(q)
	t.next()
}

// leave records that a task of a principal no longer runs.
func (t *turns) leave(q *queue) {
	t.mu.Lock()
	q.running--
	t.running--
	if q.running == 0 && len(q.waiting) == 0 {
		delete(t.by, q.key)
	}
	t.enqueue(q)
	t.next()
}

// enqueue adds a principal to order if it has waiting tasks and may run one more. t.mu is locked.
func (t *turns) enqueue(q *queue) {
	if !q.queued && len(q.waiting) > 0 && q.running < t.each {
		q.queued = true
		t.order = append(t.order, q)
	}
}

// next begins the tasks whose turn it is, and unlocks t.mu.
func (t *turns) next() {
	var begin []waiter
	for t.running < t.max && len(t.order) > 0 {
		q := t.order[0]
		t.order, q.queued = t.order[1:], false
		begin = append(begin, q.waiting[0])
		q.waiting = q.waiting[1:]
		q.running++
		t.running++
		t.enqueue(q)
	}
	t.mu.Unlock()
	for _, w := range begin {
		w.begin()
	}
}

// queued returns the number of tasks that wait for their turn, and the start of the longest wait;
// zero if no task waits.
func (t *turns) queued() (n int, since time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, q := range t.by {
		n += len(q.waiting)
		if len(q.waiting) > 0 && (since.IsZero() || q.waiting[0].since.Before(since)) {
			since = q.waiting[0].since
		}
	}
	return n, since
}

// close stops the scheduling: waiting tasks are left to other replicas.
func (t *turns) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.max = 0
}
