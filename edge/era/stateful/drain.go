package stateful

import (
	"context"
	"time"
)

// farewell is how long before the end of the grace, at the most, streams are closed whose calls still run.
const farewell = time.Second

// Drain prepares the end of this replica. The streams of calls run to their end, since few clients come
// back to one; then the standalone streams are closed. When the deadline of ctx is near, at a second or a
// quarter of the time before it, what is left is closed where a client can come back to it: after an event
// id and a hint, while its call runs on into the log. Messages are served all the while, but for new
// standalone streams; lost calls are left to other replicas. It returns when nothing runs any more, or with
// ctx's error. Call Close afterwards.
func (e *Era) Drain(ctx context.Context) error {
	e.drainOnce.Do(func() { close(e.draining) })
	near, cancel := context.WithCancel(ctx)
	if end, ok := ctx.Deadline(); ok {
		left := time.Until(end)
		near, cancel = context.WithTimeout(ctx, left-min(farewell, left/4))
	}
	_ = e.work.waitBusy(near)
	cancel()
	e.partOnce.Do(func() { close(e.parting) })
	for _, s := range e.held.all() {
		s.mu.Lock()
		if s.standalone != nil {
			s.standalone.cancel(errClosed)
		}
		s.mu.Unlock()
	}
	return e.work.wait(ctx)
}

func (e *Era) isDraining() bool {
	select {
	case <-e.draining:
		return true
	default:
		return false
	}
}

// Close ends the Era: whatever still runs is cut off, its records left to other replicas, its leases
// released. It returns when no goroutine is left. It may be called more than once.
func (e *Era) Close() {
	first := e.closed.CompareAndSwap(false, true)
	e.work.closed.Store(true)
	e.drainOnce.Do(func() { close(e.draining) })
	e.partOnce.Do(func() { close(e.parting) })
	e.kill()
	for _, s := range e.held.all() {
		s.end(errClosed)
	}
	_ = e.work.wait(context.Background())
	e.loops.Wait()
	if !first || !e.started.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := e.store.Leave(ctx); err != nil {
		e.log.Warn("the leases of this replica could not be released; they expire", "error", err)
	}
}
