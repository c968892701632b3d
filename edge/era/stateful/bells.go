package stateful

import (
	"context"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
)

// bell handles what another replica tells, or the store. It returns when the news has taken effect here.
func (e *Era) bell(b state.Bell) {
	if b.Kind == state.BellReturned {
		if e.work.enter() {
			e.renewBatches()
			e.spawn(e.redo)
			if e.answers.returned(time.Now()) {
				e.spawn(e.giveAgain)
			}
			e.work.leave()
		}
		return
	}
	s := e.held.get(b.Session)
	if s == nil || !e.work.enter() {
		return
	}
	defer e.work.leave()
	switch b.Kind {
	case state.BellChanged:
		if err := e.refresh(e.life, s); err != nil {
			e.log.Warn("a changed session could not be loaded; it is tried again", "error", err)
		}
	case state.BellDeleted:
		e.drop(s, errGone)
	case state.BellCancelled:
		if !s.cancelRequest(b.RequestID) && s.parkedHere(b.RequestID) {
			// It had no record yet when the replica that tells of it looked for one.
			e.cancelWaiting(e.life, s, b.RequestID)
		}
	case state.BellRoots:
		// Roots are asked for whenever a backend wants them: there is no copy to drop.
	}
}

// ring tells the other holders. A bell that was not heard costs them a second, no more.
func (e *Era) ring(ctx context.Context, b state.Bell) {
	sctx, cancel := e.bounded(ctx)
	defer cancel()
	if err := e.store.Ring(sctx, b); err != nil {
		e.counters.StateErrors.Add(1)
		e.log.Debug("a bell could not be rung", "error", err)
	}
}
