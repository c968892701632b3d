package memory

import (
	"slices"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// session is one session and all that belongs to it. mu guards everything but id and principal. Its
// maps are made on first use, since most sessions are idle.
type session struct {
	id, principal string

	mu   sync.Mutex
	gone bool
	used time.Time
	// record is immutable: a change replaces it.
	record  *state.Session
	holders []*Store
	streams map[string]*stream
	calls   map[string]*storedCall
	// requests maps the client's request ids to calls, asks the edge's. For two calls with one
	// client id it has the younger.
	requests, asks map[string]*storedCall
	// running are the calls that are not done.
	running   map[*storedCall]struct{}
	followers map[string]map[*follower]struct{}
	// open is the number of unfinished streams. finished are the others, in the order of their
	// ends.
	open     int
	finished []*stream
	// bytes is the size of the session for SessionBytes: see Medium.charge.
	bytes int
	// account is that of its owner; never nil.
	account *account
	// memory is the session's charge.
	memory budget.Reservation
}

// hold registers a holder.
func (s *session) hold(r *Store) {
	if slices.Contains(s.holders, r) {
		return
	}
	if i := slices.IndexFunc(s.holders, func(h *Store) bool { return h.left.Load() }); i >= 0 {
		s.holders[i] = r
		return
	}
	s.holders = append(s.holders, r)
}

// othersOf returns the holders other than r that have not left.
func othersOf(holders []*Store, r *Store) []*Store {
	return slices.DeleteFunc(slices.Clone(holders), func(h *Store) bool { return h == r || h.left.Load() })
}

// requested returns the request ids of the calls that are not done.
func (s *session) requested() (ids []string) {
	for c := range s.running {
		if s.requests[c.RequestID] == c {
			ids = append(ids, c.RequestID)
		}
	}
	return ids
}

// wake wakes every follower of a stream.
func (s *session) wake(stream string) {
	for f := range s.followers[stream] {
		f.wake()
	}
}

// put sets a key in a map, which it makes if needed.
func put[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = make(map[K]V)
	}
	(*m)[k] = v
}

// storedCall is the record of one call. Guarded by its session's mu.
type storedCall struct {
	medium.Record
	stream *stream
	// logged is the place of the last entry that was appended to the log of a batch, as numbered by
	// its writer.
	logged medium.Position
	owner  *Store
	// held is true if the lease of the epoch is in force. A waiting call has none.
	held    bool
	claimed time.Time
}

// orphaned reports whether any replica may claim a call that is not done.
func (c *storedCall) orphaned(now time.Time) bool {
	switch {
	case c.late(now):
		return true
	case !c.held:
		return c.Phase != state.PhaseWaiting || c.Missing() == 0
	}
	unwritten := c.Epoch.Counter() > 1 && c.N == 0 && now.Sub(c.claimed) > c.owner.m.limits.ClaimLife()
	return unwritten || c.owner.lost(now)
}

func (c *storedCall) late(now time.Time) bool { return !c.Deadline.IsZero() && now.After(c.Deadline) }

// claimedBy reports whether a replica owns the call by a claim with these random bits, and nothing
// was written since.
func (c *storedCall) claimedBy(r *Store, random uint32) bool {
	return c.held && c.owner == r && c.Epoch.Random() == random && c.N == 0
}

// asks reports whether the call waits for the answer to a question.
func (c *storedCall) asks(id string) bool {
	i := c.question(id)
	return i >= 0 && c.Phase == state.PhaseWaiting && c.Asked[i].Answer == nil
}

func (c *storedCall) question(id string) int {
	return slices.IndexFunc(c.Asked, func(q medium.Question) bool { return q.ID == id })
}
