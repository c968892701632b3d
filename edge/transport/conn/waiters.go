package conn

import (
	"sync"
	"time"
)

// patience is the longest that a waiter waits, and half of it the shortest.
const patience = 100 * time.Millisecond

// waiters are woken when their time has come, by a goroutine that lives while there are any. The zero value is
// ready for use.
type waiters struct {
	mu   sync.Mutex
	list []*waiter
	// ticking: the goroutine runs.
	ticking bool
	_       [24]byte // what is beside it in an array is in another cache line
}

// waiter is entered, waits until woken, and may then be entered again. It is a WaitGroup, not a channel, since it
// is a part of each connection and most are idle.
type waiter struct {
	woken sync.WaitGroup
	// at is its index in the list, plus 1; zero: it was woken. Guarded by the waiters' lock, as old is.
	at int32
	// old: it has seen a tick.
	old bool
}

func (w *waiters) enter(one *waiter) {
	one.woken.Add(1)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, one)
	one.at, one.old = int32(len(w.list)), false // #nosec G115 -- one for each open connection
	if !w.ticking {
		w.ticking = true
		go w.tick()
	}
}

// wake wakes one that was entered, unless that was done.
func (w *waiters) wake(one *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if one.at > 0 {
		w.remove(one)
	}
}

// remove wakes one and puts the last one in its place. The lock is held.
func (w *waiters) remove(one *waiter) {
	last := len(w.list) - 1
	moved := w.list[last]
	w.list[one.at-1], moved.at = moved, one.at
	w.list[last], w.list = nil, w.list[:last]
	one.at = 0
	one.woken.Done()
}

func (w *waiters) tick() {
	for {
		time.Sleep(patience / 2)
		if !w.age() {
			return
		}
	}
}

// age wakes those who were there at the last tick. False: nobody is there.
func (w *waiters) age() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.list) == 0 {
		w.ticking = false
		return false
	}
	for i := len(w.list) - 1; i >= 0; i-- { // the last ones, which take the places of others, first
		if one := w.list[i]; one.old {
			w.remove(one)
		} else {
			one.old = true
		}
	}
	return true
}
