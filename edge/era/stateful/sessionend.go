package stateful

import (
	"errors"

	"github.com/mcpedge/mcpedge/edge/call/runtime"
)

// drop removes a session that no longer exists and ends its work on this replica.
func (e *Era) drop(s *localSession) {
	e.sessions.remove(s)
	s.end(errGone)
	e.calls.End(s.id)
}

// end ends the session's work on this replica, except for calls, which the runtime.Replica ends.
func (s *localSession) end(cause error) {
	s.mu.Lock()
	if s.ended == nil {
		s.ended = cause
	}
	for _, r := range s.readers {
		r.cancel(cause)
	}
	s.endStandalone(cause)
	var calls []*runtime.Driver
	for _, c := range s.running {
		if c.run != nil && errors.Is(cause, errGone) {
			calls = append(calls, c.run)
		}
	}
	s.mu.Unlock()
	for _, c := range calls { // without the lock, because their effects take it
		c.End()
	}
}

// evict drops an unused copy. It returns false if the copy is in use.
func (e *Era) evict(s *localSession) bool {
	s.mu.Lock()
	busy := len(s.running) > 0 || len(s.readers) > 0 || s.standalone != nil || len(s.standbys) > 0 || s.used.Load()
	if !busy && s.ended == nil {
		s.ended = errEvicted
	}
	s.mu.Unlock()
	if !busy {
		e.sessions.remove(s)
	}
	return !busy
}
