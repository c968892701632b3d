package stateful

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
)

// gather is how long the first events of a call wait for those that follow: what a quick call tells of its
// progress, and its response, are then one write to the store and one to the client.
const gather = time.Millisecond

// writer is a run's way to its log. Events queue up and one goroutine, which lives while there are
// any, begins the log if there is none and writes all that wait in one step; so a slow store never blocks
// the backend. What waits when the run ends goes with the response.
type writer struct {
	mu  sync.Mutex
	has bool // there is a lease
	// stream is the lease's, for whoever does not write.
	stream string
	freed  bool // the run has ended
	timer  *time.Timer
	queue  []state.Entry
	bytes  int
	// idle is open while the queue is being written, or is about to be; nil before.
	idle chan struct{}
	// gathering begins to write the first events; nil when nothing waits for it.
	gathering *time.Timer
	// writing: some of what was queued is being written. ending: what waits is left to the response.
	writing, ending bool

	// The rest belongs to who writes: the flush, or after settle the run.
	lease state.Lease
	n     uint64
	// reclaiming is the token of a claim under way, after the store lost writes of the lease.
	reclaiming string
	// rewound: the store was away, and the log is to begin an epoch before it grows. Set from anywhere.
	rewound atomic.Bool
}

// attach gives the run its lease and ends it when its lifetime has passed.
func (r *run) attach(l state.Lease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lease, r.n, r.has, r.stream = l, 0, true, l.Stream
	r.s.writes(r)
	if r.decided {
		r.freed = true // There is only its response to write.
		return
	}
	r.timer = time.AfterFunc(time.Until(r.deadline), func() { r.cancel(errDeadline) })
}

func (r *run) attached() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.has
}

// release ends the run's part of a stream; it returns whether there was one.
func (r *run) release() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer != nil {
		r.timer.Stop()
	}
	had := r.has && !r.freed
	r.freed = true
	return had
}

// push queues an entry. When too much waits, the oldest entry that may be lost is.
func (r *run) push(en state.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.queue); n > 0 && n == cap(r.queue) {
		r.queue = slices.Grow(r.queue, 16) // where two wait, more will
	}
	r.queue = append(r.queue, en)
	r.e.counters.Queued.Add(1)
	r.bytes += len(en.Data)
	for len(r.queue) > queueEntries || r.bytes > queueBytes {
		if !r.shed() {
			break
		}
	}
	if r.idle != nil || len(r.queue) == 0 {
		return
	}
	r.idle = make(chan struct{})
	if r.has {
		r.e.spawn(r.flush)
	} else {
		r.gathering = time.AfterFunc(gather, func() { r.e.spawn(r.flush) })
	}
}

// ungather takes it back that what waits is about to be written; false when it is not, or no longer.
// r.mu is locked.
func (r *run) ungather() bool {
	pending := r.gathering != nil && r.gathering.Stop()
	r.gathering = nil
	return pending
}

// unwritten takes back what nobody has begun to write. r.mu is locked.
func (r *run) unwritten() {
	if r.ungather() {
		close(r.idle)
		r.idle = nil
	}
}

// shed drops the oldest progress or log message; false when there is none.
func (r *run) shed() bool {
	for i, en := range r.queue {
		if en.Kind == state.EntryProgress || en.Kind == state.EntryLog {
			r.bytes -= len(en.Data)
			r.queue = append(r.queue[:i], r.queue[i+1:]...)
			r.e.counters.Queued.Add(-1)
			r.e.counters.DroppedQueue.Add(1)
			return true
		}
	}
	return false
}

// flush writes what waits until nothing does.
func (r *run) flush() {
	// What cannot be written is dropped below.
	_ = r.opened()
	for {
		r.mu.Lock()
		r.writing = len(r.queue) > 0 && !r.ending
		if !r.writing {
			close(r.idle)
			r.idle = nil
			r.mu.Unlock()
			return
		}
		batch := r.take()
		has := r.has
		r.mu.Unlock()
		if !has {
			r.e.counters.DroppedUnread.Add(int64(len(batch)))
			continue
		}
		r.append(batch)
	}
}

// take empties the queue. r.mu is locked.
func (r *run) take() []state.Entry {
	batch := r.queue
	r.queue, r.bytes = nil, 0
	r.e.counters.Queued.Add(-int64(len(batch)))
	return batch
}

// putBack undoes a take. Nothing was queued since.
func (r *run) putBack(batch []state.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queue = batch
	for i := range batch {
		r.bytes += len(batch[i].Data)
	}
	r.e.counters.Queued.Add(int64(len(batch)))
}

func (r *run) append(batch []state.Entry) {
	err := r.write(func(ctx context.Context, w state.Write) error {
		return r.e.store.Append(ctx, w, batch...)
	})
	r.written(batch, err)
}

// written counts entries that were to be written.
func (r *run) written(batch []state.Entry, err error) {
	if err != nil {
		r.e.counters.DroppedUnwritten.Add(int64(len(batch)))
	} else {
		r.e.counters.Appended.Add(int64(len(batch)))
	}
}

// settle waits until the queue is written. Afterwards, with dispatch returned, the caller is the only
// writer.
func (r *run) settle() {
	r.mu.Lock()
	if r.ungather() {
		r.e.spawn(r.flush)
	}
	idle := r.idle
	r.mu.Unlock()
	if idle != nil {
		<-idle
	}
}

// end leaves what waits to the response; true when something does.
func (r *run) end() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ending = true
	r.unwritten()
	return len(r.queue) > 0
}

// rest returns what waits, after end. Afterwards, with dispatch returned, the caller is the only writer.
func (r *run) rest() []state.Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	if idle := r.idle; r.writing {
		r.mu.Unlock()
		<-idle
		r.mu.Lock()
	}
	return r.take()
}

// lostCall says that the call is not this replica's any more, or not there.
func lostCall(err error) bool {
	return errors.Is(err, state.ErrFenced) || errors.Is(err, state.ErrNotFound)
}

// write makes one numbered write, again and again while the store cannot be reached, until the call's
// lifetime has passed or the replica ends. What the store refuses for its content is the caller's to change. A call that was lost is cancelled.
func (r *run) write(op func(context.Context, state.Write) error) error {
	pause := 10 * time.Millisecond
	for {
		err := r.renew()
		if err == nil {
			ctx, cancel := r.e.bounded(r.e.life)
			err = op(ctx, state.Write{Lease: r.lease, N: r.n + 1})
			cancel()
		}
		switch {
		case err == nil:
			r.n++
			return nil
		case errors.Is(err, state.ErrTooLarge), errors.Is(err, state.ErrLimit), errors.Is(err, state.ErrExists):
			return err
		case errors.Is(err, state.ErrRollback), errors.Is(err, state.ErrFenced) && r.reclaiming != "" && !r.rewound.Load():
			if r.reclaiming == "" {
				r.e.counters.Rollbacks.Add(1)
			}
			if err = r.reclaim(); err == nil {
				continue
			}
		}
		switch {
		case errors.Is(err, state.ErrFenced):
			r.e.counters.Fenced.Add(1)
			r.cancel(errFenced)
			return err
		case errors.Is(err, state.ErrNotFound):
			r.cancel(errGone)
			return err
		}
		r.e.counters.StateErrors.Add(1)
		// A response is worth some more tries than the lifetime: the sweepers' clock may lag.
		if r.e.life.Err() != nil || time.Now().After(r.deadline.Add(stateTimeout)) {
			return err
		}
		pause = min(2*pause, time.Second)
		if !r.e.sleep(pause) {
			return err
		}
	}
}

// reclaim takes a new lease after the store lost writes of the old one. After an error that leaves it
// open, the next write asks again, with the same token.
func (r *run) reclaim() error {
	if r.reclaiming == "" {
		r.reclaiming = rand.Text()
	}
	ctx, cancel := r.e.bounded(r.e.life)
	defer cancel()
	c, err := r.e.store.Claim(ctx, state.Which{
		Session: r.lease.Session, Call: r.lease.Call, Epoch: r.lease.Epoch, Token: r.reclaiming,
	})
	if err != nil {
		return err
	}
	r.lease, r.n, r.reclaiming = c.Lease, 0, ""
	return nil
}

// renew takes a new lease, if the store was away since the last write. Calls of one batch share a log: each of them would
// write on where another lost entries, and not notice.
func (r *run) renew() error {
	if !r.rewound.Load() {
		return nil
	}
	err := r.reclaim()
	if err == nil {
		r.rewound.Store(false)
	}
	return err
}

// renewBatches has the calls of batches that run here renew their leases.
func (e *Era) renewBatches() {
	for _, s := range e.held.all() {
		s.mu.Lock()
		for r := range s.writing {
			if r.group != nil && r.group.array {
				r.rewound.Store(true)
			}
		}
		s.mu.Unlock()
	}
}

// sleep waits for d; false when the replica ends first.
func (e *Era) sleep(d time.Duration) bool {
	t := e.timer(d)
	defer e.putTimer(t)
	select {
	case <-t.C:
		return true
	case <-e.life.Done():
		return false
	}
}
