package stateful

import (
	"context"

	"github.com/mcpedge/mcpedge/edge/state"
)

// onSessionEvent handles what another replica tells. It returns when the news has taken effect here.
func (e *Era) onSessionEvent(b state.SessionEvent) {
	s := e.sessions.get(b.Session)
	if s == nil || !e.work.Enter() {
		return
	}
	defer e.work.Leave()
	switch b.Kind {
	case state.SessionChanged:
		if err := e.refresh(e.life, s); err != nil {
			e.log.Warn("a changed session could not be loaded; it is tried again", "error", err)
		}
	case state.SessionDeleted:
		e.drop(s, errGone)
	case state.RequestCancelled:
		e.cancelHere(s, b.RequestID)
	case state.StreamLeft:
		s.wake()
	case state.RootsChanged:
		// Roots are asked for whenever a backend wants them: there is no copy to drop.
	}
}

// notify tells the other holders. An event that was not heard costs them a second, no more.
func (e *Era) notify(ctx context.Context, b state.SessionEvent) {
	sctx, cancel := e.bounded(ctx)
	defer cancel()
	if err := e.store.Notify(sctx, b); err != nil {
		e.counters.StateErrors.Add(1)
		e.log.Debug("another replica could not be told of a session event", "error", err)
	}
}
