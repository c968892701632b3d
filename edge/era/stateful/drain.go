package stateful

import "context"

// Drain prepares this replica for shutdown. The streams of calls run to their end, since few
// clients resume one; then the standalone streams are closed. Near the deadline of ctx, at a second
// or a quarter of the time before it, the remaining resumable streams are closed after an event id
// and a retry hint. Their calls continue and write to the log. Until then all messages but new
// standalone streams are served; lost calls are left to other replicas. Drain returns when no
// exchange is served and no call runs here, or with the error of ctx. A call runs while it waits
// for a busy backend or for the store. A parked call, which waits for its client's answers, has no
// owner. Call Close afterwards.
func (e *Era) Drain(ctx context.Context) error {
	return e.calls.DrainStreams(ctx, func() {
		for s := range e.sessions.all {
			s.mu.Lock()
			s.endStandalone(errClosed)
			s.mu.Unlock()
		}
	})
}

// Unended returns the number of calls that run here and have a record or a client that has
// disconnected. A call whose outcome the store has not accepted runs.
func (e *Era) Unended() int { return len(e.calls.IDs()) }

// Close ends the Era: it stops the remaining work, leaves its records to other replicas and
// releases its leases. It returns when all goroutines have ended. It may be called more than once.
func (e *Era) Close() {
	e.closed.Store(true)
	e.work.Close()
	e.withdrawals.Close()
	e.calls.CloseStreams()
	e.kill()
	for s := range e.sessions.all {
		s.end(errClosed)
	}
	e.calls.Close()
	e.loops.Wait()
	_ = e.withdrawals.Wait(context.Background()) // Their context is done.
}
