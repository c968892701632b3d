package stateful

import (
	"context"
	"errors"
	"slices"
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
			s.working = s.isBusy()
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
		switch {
		case used:
			due = append(due, s)
		case now.Sub(s.lastTouched) < idle && s.served.Load() == nil:
		case s.hasStandalone():
			due = append(due, s)
		default:
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
	for part := range slices.Chunk(due, touchAtOnce) {
		if ctx.Err() != nil || !e.touch(ctx, part, use) {
			for _, s := range due { // Retry as soon as the store is back.
				s.lastTouched = time.Time{}
			}
			return
		}
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
			e.drop(s, errGone)
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

// isBusy reports whether calls of the session run or are followed.
func (s *localSession) isBusy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.running) > 0 || len(s.readers) > 0
}
