package stateful

import (
	"context"
	"errors"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
)

// Start begins the background work: heartbeats, the revalidation of held sessions and the takeover
// of lost calls. It returns after the attempt of the first heartbeat. The end of ctx stops the
// revalidation; Close stops everything. Call it once.
func (e *Era) Start(ctx context.Context) {
	e.calls.Start()
	e.loops.Go(func() {
		t := time.NewTicker(e.o.Heartbeat)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				e.revalidate(ctx)
			case <-ctx.Done():
				return
			case <-e.life.Done():
				return
			}
		}
	})
}

const (
	// touchAtOnce bounds the sessions that one operation revalidates.
	touchAtOnce = 1024
	// idleBeats is the number of heartbeats between two revalidations of an idle held session: one
	// with only an idle stream, or unused since the last revalidation. A replica may hold tens of
	// thousands of them. idleBeats bounds how long a change without an event stays unnoticed.
	idleBeats = 5
)

// revalidate extends the expiry of the sessions in use here, finds those that changed or ended
// without an event, and evicts copies that were unused for a while. A held copy alone is not a use.
func (e *Era) revalidate(ctx context.Context) {
	now := time.Now()
	// The duration is half a heartbeat shorter, because ticks are not exact.
	idle := min(idleBeats*e.o.Heartbeat, e.o.SessionTTL/2) - e.o.Heartbeat/2
	var due, unused, served, renewed []*localSession
	for s := range e.sessions.all {
		// An unused session began nothing: most sessions cost one check.
		used := s.used.Load() && s.used.Swap(false)
		if s.served.Load() != nil {
			served = append(served, s)
		}
		if s.until.Load() != 0 || s.caller.Load() != nil {
			renewed = append(renewed, s)
		}
		if used || s.working {
			s.working, _ = s.uses()
			used = used || s.working
		}
		if used {
			s.lastUsed = now
		}
		switch {
		case s.rec.Load() == nil:
			continue
		case now.Sub(s.lastUsed) > holdFor:
			if e.evict(s) {
				continue
			}
			s.lastUsed = now // by its stream
		}
		if !used && now.Sub(s.lastTouched) < idle && s.served.Load() == nil {
			continue
		}
		if _, streams := s.uses(); used || streams {
			due = append(due, s)
		} else {
			unused = append(unused, s)
		}
	}
	e.touchAll(ctx, due, true)
	e.noteRenewals(ctx, renewed)
	e.touchAll(ctx, unused, false)
	e.watchServed(ctx, served)
}

// touchAll revalidates sessions. use is true if that counts as a use.
func (e *Era) touchAll(ctx context.Context, due []*localSession, use bool) {
	for len(due) > 0 && ctx.Err() == nil {
		n := min(touchAtOnce, len(due))
		if !e.touch(ctx, due[:n], use) {
			for _, s := range due { // Retry as soon as the store is back.
				s.lastTouched = time.Time{}
			}
			return
		}
		due = due[n:]
	}
}

// touch revalidates some sessions. It returns false if the store is unavailable.
func (e *Era) touch(ctx context.Context, sessions []*localSession, use bool) bool {
	if !e.work.Enter() {
		return false
	}
	defer e.work.Leave()
	sctx, cancel := state.Bounded(ctx)
	defer cancel()
	ids := make([]string, len(sessions))
	for i, s := range sessions {
		ids[i] = s.id
	}
	began := time.Now()
	serials, err := e.store.Touch(sctx, ids, use)
	if err != nil {
		e.counters.StateErrors.Add(1)
		return false
	}
	for _, s := range sessions {
		rec := s.rec.Load()
		switch serial, ok := serials[s.id]; {
		case !ok:
			e.drop(s)
		case rec == nil:
		case serial > rec.Serial:
			if err := e.refresh(ctx, s); err != nil && !errors.Is(err, state.ErrNotFound) {
				return false
			}
		default:
			s.fresh.Store(began.UnixNano())
		}
		s.lastTouched = began
	}
	return true
}

// uses reports whether calls of the session run or are followed here, and whether standalone streams
// are open here.
func (s *localSession) uses() (calls, streams bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.running) > 0 || len(s.readers) > 0, s.standalone != nil || len(s.standbys) > 0
}

// onSessionEvent handles an event from another replica. It returns when the event has taken effect
// here.
func (e *Era) onSessionEvent(b state.SessionEvent) {
	s := e.sessions.get(b.Session)
	if s == nil || !e.work.Enter() {
		return
	}
	defer e.work.Leave()
	switch b.Kind {
	case state.SessionChanged:
		if err := e.refresh(e.life, s); err != nil {
			e.o.Logger.Warn("a changed session could not be loaded; retrying", "error", err)
		}
	case state.ListsServed:
		// The client has read lists at another replica: their changes are those from the digest in the
		// record.
		if err := e.refresh(e.life, s); err != nil {
			return
		}
		if a := s.attached(); a != nil {
			a.tasks.sendListChanges()
		}
	case state.SessionDeleted:
		e.drop(s)
	case state.RequestCancelled:
		e.cancelHere(s, b.RequestID)
	case state.RequestBegan:
		s.mu.Lock()
		s.remoteIDs.add(b.RequestID)
		s.mu.Unlock()
	case state.StreamLeft:
		s.chooseStandby()
	case state.RootsChanged:
		// Roots are not cached: they are queried whenever a backend needs them.
	}
}

// notify sends an event to the other replicas that hold the session. They detect a lost event
// within a second.
func (e *Era) notify(ctx context.Context, b state.SessionEvent) {
	sctx, cancel := state.Bounded(ctx)
	defer cancel()
	if err := e.store.Notify(sctx, b); err != nil {
		e.counters.StateErrors.Add(1)
		e.o.Logger.Debug("another replica could not be notified of a session event", "error", err)
	}
}

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
