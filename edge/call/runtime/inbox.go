package runtime

import "sync"

// machine is driven by an inbox. step is pure. do may take time but must not block: it leaves
// blocking work to a goroutine, which posts an event.
type machine[E, F any] interface {
	step(e E, effects []F) []F
	do(effect *F)
}

// inbox passes a machine one event at a time, in the order of posting. It carries out the effects
// of an event, in order and without a lock, before the next event. It has no goroutine of its own:
// a caller that posts to an idle inbox drains it. The zero inbox is empty; effects may be set to a
// buffer before first use.
type inbox[E, F any] struct {
	mu       sync.Mutex
	queue    []E
	effects  []F
	draining bool
}

// post passes the machine an event. The event has taken effect when post returns, unless another
// goroutine is draining the inbox. do may post to its own machine and to others.
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

// hold queues a first event, and all that are posted after it, until release is called. It is for a
// machine that is not registered yet.
func (b *inbox[E, F]) hold(e E) { b.queue, b.draining = append(b.queue, e), true }

func (b *inbox[E, F]) release(m machine[E, F]) {
	b.mu.Lock()
	b.drain(m)
}

// drain carries out effects and takes events until none are left. It unlocks the inbox.
func (b *inbox[E, F]) drain(m machine[E, F]) {
	for {
		b.mu.Unlock()
		for i := range b.effects {
			m.do(&b.effects[i])
		}
		clear(b.effects)
		b.mu.Lock()
		if len(b.queue) == 0 {
			b.queue, b.draining = nil, false
			b.mu.Unlock()
			return
		}
		e := b.queue[0]
		b.queue = b.queue[1:]
		b.effects = m.step(e, b.effects[:0])
	}
}

// inspect calls fn while the machine takes no event.
func (b *inbox[E, F]) inspect(fn func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fn()
}
