package stateful

import (
	"errors"
	"hash/maphash"
	"maps"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// A request id is in use until its call has ended, on whichever replica the call runs or waits; the
// client may then use it again. register bounds the calls of a session and refuses an id in use.
// This replica knows the ids of the calls that it runs. Those of other calls with a record are
// hints (see remoteIDs): only a request with a hinted id is checked in the store, so that other
// requests make no round trip.

// register registers a call of the exchange under its request id. If the id may be in use
// elsewhere, register loads the session to find out.
func (x *exchange) register(c *runner) error {
	err := x.s.register(x.e, c, unchecked)
	if !errors.Is(err, errRemoteID) {
		return err
	}
	loadErr := x.e.refresh(x.ctx, x.s)
	err = x.s.register(x.e, c, checked)
	switch {
	case !errors.Is(err, errRemoteID):
		return err
	case loadErr != nil:
		return stateError(loadErr)
	}
	return idInUse(c.id.Raw())
}

// registration is the way in which a call is registered.
type registration uint8

const (
	// unchecked means that the id may be in use elsewhere, which errRemoteID reports.
	unchecked registration = iota
	// checked means that the session was loaded: only the ids known from the load are in use
	// elsewhere.
	checked
	// claimed means that the call replaces the id's holder.
	claimed
)

// register registers a call under its request id.
func (s *localSession) register(e *Era, c *runner, how registration) error {
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
		case s.remoteIDs.has(key), how == unchecked && s.remoteIDs.asOf != e.returns.Load():
			return errRemoteID
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

// unregister frees the request id of a call that is over here or is about to respond. The id
// of a parked call stays in use while a reader here follows its stream. The id of a call that did
// not end is in use elsewhere.
func (s *localSession) unregister(c *runner, how call.How) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.parked = how == call.HowParked
	followed := c.parked && (s.readers[c.stream] != nil || c.exchange != nil && !c.exchange.over)
	if key := c.id.Raw(); s.running[key] == c && !followed {
		delete(s.running, key)
		if c.parked || how == call.HowLost {
			s.remoteIDs.add(key)
		}
	}
}

// releaseParkedIDs frees the request ids of a stream's parked calls before a response is sent, so
// that the client may reuse them at once.
func (s *localSession) releaseParkedIDs(stream string) {
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

// freeParked frees the request id of a parked call; the store knows whether the call has ended
// since. The caller holds s.mu.
func (s *localSession) freeParked(c *runner) {
	if key := c.id.Raw(); c.parked && s.running[key] == c {
		delete(s.running, key)
		s.remoteIDs.add(key)
	}
}

// idInUse is the error for a request whose id is that of a call that has not ended.
func idInUse(id string) *mcp.Error {
	return mcp.Errorf(mcp.KindInvalidRequest, "the request id %.40s is in use by a request that still runs; use a new one", id)
}

// The request ids of calls with a record that do not run here are hints, from the loaded session,
// from state.RequestBegan and from the calls that left this replica. A call without a record is
// unknown to other replicas.

// maxRemoteIDs bounds the hints of a session. If there are more, they are dropped, and the next
// request loads the session.
const maxRemoteIDs = 256

var (
	// errRemoteID means that the request id may be in use by a call that does not run here.
	errRemoteID = errors.New("the request id may be in use elsewhere")

	remoteIDSeed = maphash.MakeSeed()
)

// remoteIDs holds the request ids of a session that may be in use by calls which do not run here.
// The zero value is incomplete. Guarded by localSession.mu.
type remoteIDs struct {
	// ids maps the hash of an id to the value of loads when it was added.
	ids map[uint64]uint32
	// loads counts the started loads of the session.
	loads uint32
	// asOf is the value of Era.returns up to which the hints are complete. 0 means that they are
	// incomplete.
	asOf uint64
}

func hashOf(id string) uint64 { return maphash.String(remoteIDSeed, id) }

// add adds an id.
func (w *remoteIDs) add(id string) {
	if len(w.ids) >= maxRemoteIDs {
		clear(w.ids)
		w.asOf = 0
		return
	}
	if w.ids == nil {
		w.ids = map[uint64]uint32{}
	}
	w.ids[hashOf(id)] = w.loads
}

// has reports whether an id is hinted.
func (w *remoteIDs) has(id string) bool {
	if len(w.ids) == 0 {
		return false
	}
	_, ok := w.ids[hashOf(id)]
	return ok
}

// loadEnds replaces the hints from before the start of the last load by the request ids that it
// returned, up to the bound and except for those of calls that run here. The load began when
// Era.returns was asOf.
func (s *localSession) loadEnds(ids []string, asOf uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &s.remoteIDs
	maps.DeleteFunc(w.ids, func(_ uint64, at uint32) bool { return at < w.loads })
	w.asOf = asOf
	for _, id := range ids {
		if s.running[id] == nil && len(w.ids) < maxRemoteIDs/2 {
			w.add(id)
		}
	}
}
