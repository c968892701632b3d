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
// standalone streams; lost calls are left to other replicas. It returns when no exchange is served and no call
// goes on here, or with ctx's error. A call goes on while it waits for a busy backend or for the store; one that waits for
// its client's answers is nobody's. Call Close afterwards.
func (e *Era) Drain(ctx context.Context) error {
	e.drainOnce.Do(func() { close(e.draining) })
	near, cancel := context.WithCancel(ctx)
	if end, ok := ctx.Deadline(); ok {
		left := time.Until(end)
		near, cancel = context.WithTimeout(ctx, left-min(farewell, left/4))
	}
	_ = e.work.WaitBusy(near)
	cancel()
	e.partOnce.Do(func() { close(e.parting) })
	for _, s := range e.sessions.all() {
		s.mu.Lock()
		s.endStandalone(errClosed)
		s.mu.Unlock()
	}
	return e.work.Wait(ctx)
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
	e.closed.Store(true)
	e.work.Close()
	e.withdrawals.Close()
	e.drainOnce.Do(func() { close(e.draining) })
	e.partOnce.Do(func() { close(e.parting) })
	e.kill()
	for _, s := range e.sessions.all() {
		s.end(errClosed)
	}
	e.calls.Close()
	e.loops.Wait()
	_ = e.withdrawals.Wait(context.Background()) // Their context has ended.
}
