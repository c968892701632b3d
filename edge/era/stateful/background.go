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
	e.beat(ctx)
	for _, job := range []func(context.Context){func(ctx context.Context) { e.beat(ctx) }, e.revalidate, e.sweepUnlessDraining, e.rest} {
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

// touchAtOnce bounds the sessions that one operation revalidates.
const touchAtOnce = 1024

// rest gives up what only a busy edge needs.
func (e *Era) rest(context.Context) { e.workers.trim() }

// revalidate extends the expiry of the sessions in use, notices those that changed or ended unheard,
// and gives up copies that nobody used for a while.
func (e *Era) revalidate(ctx context.Context) {
	now := time.Now()
	var ids []string
	for _, s := range e.held.all() {
		if s.used.Swap(false) || s.busy() {
			s.lastUsed = now
		}
		if s.rec.Load() == nil || now.Sub(s.lastUsed) > holdFor && e.evict(s) {
			continue
		}
		ids = append(ids, s.id)
	}
	for len(ids) > 0 && ctx.Err() == nil {
		n := min(len(ids), touchAtOnce)
		if !e.touch(ctx, ids[:n]) {
			return
		}
		ids = ids[n:]
	}
}

// touch revalidates some sessions; false when the store cannot be reached.
func (e *Era) touch(ctx context.Context, ids []string) bool {
	if !e.work.enter() {
		return false
	}
	defer e.work.leave()
	sctx, cancel := e.bounded(ctx)
	defer cancel()
	began := time.Now().UnixNano()
	serials, err := e.store.Touch(sctx, ids)
	if err != nil {
		e.counters.StateErrors.Add(1)
		return false
	}
	for _, id := range ids {
		s := e.held.get(id)
		if s == nil {
			continue
		}
		rec := s.rec.Load()
		switch serial, ok := serials[id]; {
		case !ok:
			e.drop(s, errGone)
		case rec == nil:
		case serial > rec.Serial:
			if err := e.refresh(ctx, s); err != nil && !errors.Is(err, state.ErrNotFound) {
				return false
			}
		default:
			s.fresh.Store(began)
		}
	}
	return true
}
