package stateful

import (
	"context"
	"errors"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
)

// Start begins what runs beside the requests: signs of life, the revalidation of held sessions, and
// the takeover of lost calls. It returns after the first sign of life was tried. All of it ends with
// ctx or with Close. Call it once.
func (e *Era) Start(ctx context.Context) {
	e.started.Store(true)
	e.beat(ctx)
	for _, job := range []func(context.Context){func(ctx context.Context) { e.beat(ctx) }, e.revalidate, e.sweepUnlessDraining} {
		e.loops.Go(func() { e.every(ctx, job) })
	}
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

// beat gives a sign of life; false when that failed.
func (e *Era) beat(ctx context.Context) bool {
	sctx, cancel := e.bounded(ctx)
	defer cancel()
	err := e.store.Beat(sctx)
	if err != nil && !e.closed.Load() {
		e.counters.StateErrors.Add(1)
		e.log.Warn("no sign of life could be given; other replicas may take over this one's calls", "error", err)
	}
	return err == nil
}

// sweepUnlessDraining shows that this replica lives before it looks for those that do not: a process
// that stood still for a while would take over its own calls.
func (e *Era) sweepUnlessDraining(ctx context.Context) {
	if !e.isDraining() && e.beat(ctx) {
		e.sweep(ctx)
	}
}

const (
	// touchAtOnce bounds the sessions that one operation revalidates.
	touchAtOnce = 1024
	// idleBeats is how many heartbeats pass between two revalidations of a session that is held and not
	// used, for its idle stream or since its last use, of which a replica may have ten thousands. So long
	// may what changed there without its bell be unknown here.
	idleBeats = 5
)

// revalidate extends the expiry of the sessions that are in use here, notices those that changed or ended unheard,
// and gives up copies that nobody used for a while. To hold a copy is no use.
func (e *Era) revalidate(ctx context.Context) {
	now := time.Now()
	// Half a heartbeat less, since they do not come to the nanosecond.
	idle := min(idleBeats*e.o.Heartbeat, e.o.SessionTTL/2) - e.o.Heartbeat/2
	var due, unused []*held
	for _, s := range e.held.all() {
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
		case s.attached() != nil:
			due = append(due, s)
		default:
			unused = append(unused, s)
		}
	}
	e.touchAll(ctx, due, e.store.Touch)
	e.touchAll(ctx, unused, e.store.Serials)
}

// touchAll revalidates sessions by a method of the store.
func (e *Era) touchAll(ctx context.Context, due []*held, by func(context.Context, []string) (map[string]uint64, error)) {
	for len(due) > 0 && ctx.Err() == nil {
		n := min(len(due), touchAtOnce)
		if !e.touch(ctx, due[:n], by) {
			for _, s := range due { // as soon as the store is back
				s.lastTouched = time.Time{}
			}
			return
		}
		due = due[n:]
	}
}

// touch revalidates some sessions; false when the store cannot be reached.
func (e *Era) touch(ctx context.Context, sessions []*held, by func(context.Context, []string) (map[string]uint64, error)) bool {
	if !e.work.enter() {
		return false
	}
	defer e.work.leave()
	sctx, cancel := e.bounded(ctx)
	defer cancel()
	ids := make([]string, len(sessions))
	for i, s := range sessions {
		ids[i] = s.id
	}
	began := time.Now()
	serials, err := by(sctx, ids)
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
