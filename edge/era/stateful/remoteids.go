package stateful

import (
	"errors"
	"hash/maphash"
	"maps"
)

// The request ids of calls with a record that do not run here are hints, from the loaded session,
// from state.RequestBegan and from the calls that left this replica. A call without a record is
// unknown to other replicas. See requestids.go.

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
