package stateful

import "sync/atomic"

// idleWorkers bounds the goroutines that wait for a call: each holds a stack of 8 to 16 KiB.
const idleWorkers = 64

// workers run calls apart from the exchanges that brought them, where those cannot be left: a call outlives a
// client that leaves.
// A goroutine that has run one waits for the next: its stack has grown to what a call takes, and a new one
// would copy its own several times on the way there.
type workers struct {
	// next is taken by those that wait; nil ends one.
	next chan *run
	idle atomic.Int32
}

func (w *workers) init() { w.next = make(chan *run) }

// start runs r in a goroutine that waits, or in a new one.
func (w *workers) start(r *run) {
	select {
	case w.next <- r:
	default:
		go w.work(r)
	}
}

func (w *workers) work(r *run) {
	for r != nil {
		r.main()
		if w.idle.Add(1) > idleWorkers {
			w.idle.Add(-1)
			return
		}
		r = <-w.next
		w.idle.Add(-1)
	}
}

// trim ends half of those that wait: without calls, soon none is left. It is called once in a while, and
// not beside close.
func (w *workers) trim() {
	for range (w.idle.Load() + 1) / 2 {
		select {
		case w.next <- nil:
		default:
			return
		}
	}
}

// close ends those that wait. Nothing is started any more.
func (w *workers) close() { close(w.next) }
