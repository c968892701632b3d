package stateful

import (
	"context"
	"time"
)

// Drain prepares the end of this replica: standalone streams close; streams that a client can come
// back to are closed after an event id and a hint, while their calls run on into the log; the others
// run to their end. It returns when nothing runs any more, or with ctx's error. Messages are served
// all the while; lost calls are left to other replicas. Call Close afterwards.
func (e *Era) Drain(ctx context.Context) error {
	e.drainOnce.Do(func() { close(e.draining) })
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
	e.kill()
	for _, s := range e.held.all() {
		s.end(errClosed)
	}
	_ = e.work.wait(context.Background())
	e.loops.Wait()
	if !first {
		return
	}
	e.workers.close()
	if !e.started.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := e.store.Leave(ctx); err != nil {
		e.log.Warn("the leases of this replica could not be released; they expire", "error", err)
	}
}
