package run

import "sync"

// machine is what an inbox is for. step is pure; do may take its time, but waits for nobody: what blocks it leaves to a
// goroutine, which comes back with an event.
type machine[E, F any] interface {
	step(e E, effects []F) []F
	do(effect *F)
}

// inbox gives a machine one event at a time, in the order in which they were posted, and carries out the effects of one
// before the next, in order, without a lock. There is no goroutine to it: whoever posts an event and finds nobody at it
// goes on until there are none left. The zero inbox is empty; effects may be set to a buffer before its first use.
type inbox[E, F any] struct {
	mu       sync.Mutex
	queue    []E
	effects  []F
	draining bool
}

// post gives the machine an event: it has taken effect when post returns, unless somebody else is at it. A machine may
// post to itself, and to another, from do.
func (b *inbox[E, F]) post(m machine[E, F], e E) {
	b.mu.Lock()
	if b.draining {
		b.queue = append(b.queue, e)
		b.mu.Unlock()
		return
	}
	b.draining = true
	b.effects = m.step(e, b.effects[:0])
	b.drain(m)
}

// postAll gives the machine events, at least one, before any that come of their effects, or from elsewhere after the first.
func (b *inbox[E, F]) postAll(m machine[E, F], events []E) {
	b.mu.Lock()
	if b.draining {
		b.queue = append(b.queue, events...)
		b.mu.Unlock()
		return
	}
	b.draining = true
	b.queue = append(b.queue, events[1:]...)
	b.effects = m.step(events[0], b.effects[:0])
	b.drain(m)
}

// hold keeps a first event back, and all that are posted behind it, until release is called. It is for a machine that
// nobody knows yet.
func (b *inbox[E, F]) hold(e E) { b.queue, b.draining = append(b.queue, e), true }

func (b *inbox[E, F]) release(m machine[E, F]) {
	b.mu.Lock()
	b.drain(m)
}

// drain carries out effects, and goes on until there is no event left. It unlocks the inbox.
func (b *inbox[E, F]) drain(m machine[E, F]) {
	for next := 0; ; next++ {
		b.mu.Unlock()
		for i := range b.effects {
			m.do(&b.effects[i])
		}
		clear(b.effects)
		b.mu.Lock()
		if next == len(b.queue) {
			clear(b.queue)
			b.queue, b.draining = b.queue[:0], false
			b.mu.Unlock()
			return
		}
		if next == compactAt { // Whoever posts may be as fast as this.
			b.queue = append(b.queue[:0], b.queue[next:]...)
			next = 0
		}
		b.effects = m.step(b.queue[next], b.effects[:0])
	}
}

// compactAt is how many events that were taken stay in the queue.
const compactAt = 64

// look calls fn while the machine takes no event.
func (b *inbox[E, F]) look(fn func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fn()
}
