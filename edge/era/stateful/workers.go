package stateful

import (
	"context"
	"sync/atomic"
)

// idleWorkers bounds the goroutines that wait for a call: each holds a stack of 8 to 16 KiB.
const idleWorkers = 64

// workers run calls apart from the exchanges that brought them, since a call outlives a client that leaves.
// A goroutine that has run one waits for the next: its stack has grown to what a call takes, and a new one
// would copy its own several times on the way there.
type workers struct {
	// next is taken by those that wait.
	next chan *run
	idle atomic.Int32
}

// start runs r in a goroutine that waits, or in a new one. Those that wait end with life.
func (w *workers) start(life context.Context, r *run) {
	select {
	case w.next <- r:
	default:
		go w.work(life, r)
	}
}

func (w *workers) work(life context.Context, r *run) {
	for {
		r.main()
		if w.idle.Add(1) > idleWorkers {
			w.idle.Add(-1)
			return
		}
		select {
		case r = <-w.next:
			w.idle.Add(-1)
		case <-life.Done():
			return
		}
	}
}
