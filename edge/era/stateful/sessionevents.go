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
			e.log.Warn("a changed session could not be loaded; retrying", "error", err)
		}
	case state.ListsServed:
		if err := e.refresh(e.life, s); err == nil {
			e.listsServed(s)
		}
	case state.SessionDeleted:
		e.drop(s, errGone)
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
		e.log.Debug("another replica could not be notified of a session event", "error", err)
	}
}
