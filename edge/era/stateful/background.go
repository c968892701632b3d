package stateful

import (
	"context"
	"errors"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
)

// Start begins what runs beside the requests: signs of life, the revalidation of held sessions, and
// the takeover of lost calls. It returns after the first sign of life was tried. The revalidation ends with
// ctx, and all of it with Close. Call it once.
func (e *Era) Start(ctx context.Context) {
	e.calls.Start()
	e.loops.Go(func() { e.every(ctx, e.revalidate) })
}

// every does a job once per Heartbeat.
func (e *Era) every(ctx context.Context, job func(context.Context)) {
	t := time.NewTicker(e.o.Heartbeat)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			job(ctx)
		case <-ctx.Done():
			return
		case <-e.life.Done():
			return
		}
	}
}

const (
	// touchAtOnce bounds the sessions that one operation revalidates.
	touchAtOnce = 1024
	// idleBeats is how many heartbeats pass between two revalidations of a session that is held and not
	// used, for its idle stream or since its last use, of which a replica may have ten thousands. So long
	// may what changed there without its event be unknown here.
	idleBeats = 5
)

// revalidate extends the expiry of the sessions that are in use here, notices those that changed or ended unheard,
// and gives up copies that nobody used for a while. To hold a copy is no use.
func (e *Era) revalidate(ctx context.Context) {
	now := time.Now()
	// Half a heartbeat less, since they do not come to the nanosecond.
	idle := min(idleBeats*e.o.Heartbeat, e.o.SessionTTL/2) - e.o.Heartbeat/2
	var due, unused []*localSession
	for _, s := range e.sessions.all() {
		// What is not used begins nothing: most sessions cost one look.
		used := s.used.Load() && s.used.Swap(false)
		if used || s.working {
			s.working = s.works()
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
		case now.Sub(s.lastTouched) < idle:
		case s.listened():
			due = append(due, s)
		default:
			unused = append(unused, s)
		}
	}
	e.touchAll(ctx, due, true)
	e.noteRenewals(ctx, due)
	e.touchAll(ctx, unused, false)
}

// touchAll revalidates sessions, which is a use of them or not.
func (e *Era) touchAll(ctx context.Context, due []*localSession, use bool) {
	for len(due) > 0 && ctx.Err() == nil {
		n := min(len(due), touchAtOnce)
		if !e.touch(ctx, due[:n], use) {
			for _, s := range due { // as soon as the store is back
				s.lastTouched = time.Time{}
			}
			return
		}
		due = due[n:]
	}
}

// touch revalidates some sessions; false when the store cannot be reached.
func (e *Era) touch(ctx context.Context, sessions []*localSession, use bool) bool {
	if !e.work.Enter() {
		return false
	}
	defer e.work.Leave()
	sctx, cancel := e.bounded(ctx)
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
