package stateful

import (
	"context"

	"github.com/mcpedge/mcpedge/edge/state"
)

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
			e.log.Warn("a changed session could not be loaded; it is tried again", "error", err)
		}
	case state.SessionDeleted:
		e.drop(s, errGone)
	case state.RequestCancelled:
		e.cancelHere(s, b.RequestID)
	case state.RequestBegan:
		s.begunElsewhere(b.RequestID)
	case state.StreamLeft:
		s.wake()
	case state.RootsChanged:
		// Roots are queried whenever a backend needs them: there is no copy to drop.
	}
}

// notify sends an event to the other replicas that hold the session. They find a lost event a
// second later.
func (e *Era) notify(ctx context.Context, b state.SessionEvent) {
	sctx, cancel := e.bounded(ctx)
	defer cancel()
	if err := e.store.Notify(sctx, b); err != nil {
		e.counters.StateErrors.Add(1)
		e.log.Debug("another replica could not be told of a session event", "error", err)
	}
}
