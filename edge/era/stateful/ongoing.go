package stateful

import (
	"errors"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// drop forgets a session and ends what goes on here on its behalf.
func (e *Era) drop(s *held, cause error) {
	e.held.remove(s)
	s.end(cause)
}

func (s *held) end(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended == nil {
		s.ended = cause
	}
	for _, r := range s.running {
		r.cancel(cause)
	}
	for _, r := range s.readers {
		r.cancel(cause)
	}
	if s.standalone != nil {
		s.standalone.cancel(cause)
	}
}

// gone says that the session is not there any more.
func (s *held) gone() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Is(s.ended, errGone)
}

// begin registers a call under its request id.
func (e *Era) begin(s *held, r *run, takeOver bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != nil {
		return s.ended
	}
	if e.closed.Load() {
		return errClosed
	}
	key := r.id.Raw()
	if !takeOver {
		if _, dup := s.running[key]; dup {
			return mcp.Errorf(mcp.KindInvalidRequest, "the request id %.40s is in use by a request that still runs; use a new one", key)
		}
		if len(s.running) >= e.o.MaxCallsPerSession {
			e.o.Telemetry.Hit(telemetry.BoundCalls)
			return mcp.Errorf(mcp.KindLimit, "%d requests of this session are running; wait for some to end", len(s.running))
		}
	}
	s.running[key] = r
	s.used.Store(true)
	return nil
}

// finished unregisters a run that has ended. While somebody here follows the stream of a parked call
// its request id stays taken.
func (s *held) finished(r *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	followed := r.parked && (s.readers[r.stream] != nil || r.group != nil && !r.group.over)
	if s.running[r.id.Raw()] == r && !followed {
		delete(s.running, r.id.Raw())
	}
}

// park marks a call as nobody's. From then on it is cancelled by its record.
func (s *held) park(r *run) {
	s.mu.Lock()
	r.parked = true
	s.mu.Unlock()
}

// answeredHere gives them free before a response is sent: the client may use the id again at once.
func (s *held) answeredHere(stream string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unfollowed(stream)
}

// unfollowed gives the request ids of a stream's parked calls free. s.mu is locked.
func (s *held) unfollowed(stream string) {
	for id, r := range s.running {
		if r.parked && r.stream == stream {
			delete(s.running, id)
		}
	}
}

// writes notes that a run writes to its stream, and wrote that it does so no more.
func (s *held) writes(r *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writing == nil {
		s.writing = map[*run]struct{}{}
	}
	s.writing[r] = struct{}{}
}

func (s *held) wrote(r *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.writing, r)
}

// writtenHere says whether a stream is written here, and runsHere whether a call is.
func (s *held) writtenHere(stream string) bool {
	return s.writesHere(func(r *run) bool { return r.stream == stream })
}

func (s *held) runsHere(call string) bool {
	return s.writesHere(func(r *run) bool { return r.call.ID == call })
}

func (s *held) writesHere(is func(*run) bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for r := range s.writing {
		if is(r) {
			return true
		}
	}
	return false
}

// evict gives up an unused copy; false when it came into use.
func (e *Era) evict(s *held) bool {
	s.mu.Lock()
	busy := len(s.running) > 0 || len(s.readers) > 0 || s.standalone != nil || s.used.Load()
	if !busy && s.ended == nil {
		s.ended = errEvicted
	}
	s.mu.Unlock()
	if !busy {
		e.held.remove(s)
	}
	return !busy
}

// works says whether calls of the session run or are followed.
func (s *held) works() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.running) > 0 || len(s.readers) > 0
}
