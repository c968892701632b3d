package stateful

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
)

const (
	// endLife is how long an end is kept while the store works; what was acknowledged before that has
	// reached whoever takes its place.
	endLife = 10 * time.Second
	// maxEnds and maxEndBytes bound the ends that are kept; the oldest go first.
	maxEnds, maxEndBytes = 1024, 16 << 20
	// redoFor bounds how long one is tried again, redoAtOnce how many are at the same time.
	redoFor, redoAtOnce = 10 * time.Second, 16
)

// ends are the writes by which calls of late stopped being this replica's: parked or finished. They were
// acknowledged; but a store that fails over may have lost them, and then nobody runs the call and nobody
// knows. So when the store has been away they are made again if they are not there. Ages count from the
// newest, so that the time the store is away for is none.
type ends struct {
	mu    sync.Mutex
	list  []end
	bytes int
}

// end is a write as it was acknowledged.
type end struct {
	at    time.Time
	bytes int
	s     *held
	write state.Write
	op    func(context.Context, state.Write) error
}

func (x *ends) add(en end) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.list = append(x.list, en)
	x.bytes += en.bytes
	drop := 0
	for _, old := range x.list {
		if len(x.list)-drop <= maxEnds && x.bytes <= maxEndBytes && en.at.Sub(old.at) <= endLife {
			break
		}
		x.bytes -= old.bytes
		drop++
	}
	clear(x.list[:drop])
	x.list = x.list[drop:]
}

// since are those that were added at a time or later.
func (x *ends) since(t time.Time) []end {
	x.mu.Lock()
	defer x.mu.Unlock()
	i := slices.IndexFunc(x.list, func(en end) bool { return !en.at.Before(t) })
	if i < 0 {
		return nil
	}
	return slices.Clone(x.list[i:])
}

// ended keeps the write that the run has just made, for it is its last. op keeps nothing of the run but
// those bytes.
func (r *run) ended(bytes int, op func(context.Context, state.Write) error) {
	r.e.ends.add(end{at: time.Now(), bytes: bytes, s: r.s, write: state.Write{Lease: r.lease, N: r.n}, op: op})
}

// redo makes the last writes again, and then those that had been acknowledged before the store was away
// and were noted since. The caller is inside the work gate.
func (e *Era) redo() {
	began := time.Now()
	e.redoAll(e.ends.since(time.Time{}))
	if e.sleep(stateTimeout) {
		e.redoAll(e.ends.since(began))
	}
}

func (e *Era) redoAll(list []end) {
	slots := make(chan struct{}, redoAtOnce)
	var wg sync.WaitGroup
	for _, en := range slices.Backward(list) { // What was lost is the newest.
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			en.redo(e)
		})
	}
	wg.Wait()
}

// redo makes the write again unless it is there, or the call is somebody else's. It has the number after
// the write's own: with that it is refused when the write is there, for that ended the lease; and when it
// is not, a write is missing before it, so that the log begins a new epoch, and a client that had seen
// what is lost is told it again.
func (en end) redo(e *Era) {
	r := &run{e: e, s: en.s, deadline: time.Now().Add(redoFor)}
	r.call.ID, r.stream = en.write.Call, en.write.Stream
	r.lease, r.n = en.write.Lease, en.write.N
	r.ctx, r.cancel = context.WithCancelCause(e.life)
	defer r.cancel(nil)
	r.s.writes(r)
	defer r.s.wrote(r)
	_ = r.write(func(ctx context.Context, w state.Write) error {
		err := en.op(ctx, w)
		if errors.Is(err, state.ErrFenced) && w.Epoch == en.write.Epoch {
			return nil
		}
		return err
	})
}
