package stateful

import (
	"errors"

	"github.com/mcpedge/mcpedge/edge/era/stateful/call"
	"github.com/mcpedge/mcpedge/edge/era/stateful/run"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// drop removes a session and ends its work on this replica.
func (e *Era) drop(s *localSession, cause error) {
	e.sessions.remove(s)
	s.end(cause)
	if errors.Is(cause, errGone) {
		e.calls.End(s.id)
	}
}

// end ends the session's work on this replica, except for calls, which the run.Replica ends.
func (s *localSession) end(cause error) {
	s.mu.Lock()
	if s.ended == nil {
		s.ended = cause
	}
	for _, r := range s.readers {
		r.cancel(cause)
	}
	s.endStandalone(cause)
	var calls []*run.Call
	for _, c := range s.running {
		if c.run != nil && errors.Is(cause, errGone) {
			calls = append(calls, c.run)
		}
	}
	s.mu.Unlock()
	for _, c := range calls { // without the lock, which their effects take
		c.End()
	}
}

// registration is how a call is registered.
type registration uint8

const (
	// unchecked: the id may be in use elsewhere, which errElsewhere reports.
	unchecked registration = iota
	// checked: the session was loaded, so only what it knows then is in use elsewhere.
	checked
	// claimed: the call replaces the id's holder.
	claimed
)

// register registers a call under its request id.
func (s *localSession) register(e *Era, c *execution, how registration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != nil {
		return s.ended
	}
	if e.closed.Load() {
		return errClosed
	}
	key := c.id.Raw()
	if how != claimed {
		switch {
		case s.running[key] != nil:
			return idInUse(key)
		case s.elsewhere.has(key), how == unchecked && s.elsewhere.asOf != e.returns.Load():
			return errElsewhere
		}
		if len(s.running) >= e.o.MaxCallsPerSession {
			e.o.Telemetry.Hit(telemetry.BoundCalls)
			return mcp.Errorf(mcp.KindLimit, "%d requests of this session are running; wait for some to end", len(s.running))
		}
	}
	s.running[key] = c
	s.used.Store(true)
	return nil
}

// unregister frees the request id of an execution that is over here or is about to respond. The id
// of a parked call stays taken while a reader here follows its stream. The id of a call that did not
// end is in use elsewhere.
func (s *localSession) unregister(c *execution, how call.How) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.parked = how == call.HowParked
	followed := c.parked && (s.readers[c.stream] != nil || c.exchange != nil && !c.exchange.over)
	if key := c.id.Raw(); s.running[key] == c && !followed {
		delete(s.running, key)
		if c.parked || how == call.HowLost {
			s.elsewhere.add(key)
		}
	}
}

// answeredHere frees the request ids of a stream's parked calls before a response is sent, so that
// the client may reuse them at once.
func (s *localSession) answeredHere(stream string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.freeParkedOf(stream)
}

// freeParkedOf frees the request ids of a stream's parked calls. The caller holds s.mu.
func (s *localSession) freeParkedOf(stream string) {
	for _, c := range s.running {
		if c.stream == stream {
			s.freeParked(c)
		}
	}
}

// freeParked frees the request id of a call if it is parked; the store knows whether it has ended
// since. The caller holds s.mu.
func (s *localSession) freeParked(c *execution) {
	if key := c.id.Raw(); c.parked && s.running[key] == c {
		delete(s.running, key)
		s.elsewhere.add(key)
	}
}

// evict drops an unused copy. It returns false if the copy is in use.
func (e *Era) evict(s *localSession) bool {
	s.mu.Lock()
	busy := len(s.running) > 0 || len(s.readers) > 0 || s.standalone != nil || len(s.spares) > 0 || s.used.Load()
	if !busy && s.ended == nil {
		s.ended = errEvicted
	}
	s.mu.Unlock()
	if !busy {
		e.sessions.remove(s)
	}
	return !busy
}

// works reports whether calls of the session run or are followed.
func (s *localSession) works() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.running) > 0 || len(s.readers) > 0
}
