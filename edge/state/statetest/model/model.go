// Package model is the reference medium: in memory, for tests, and able to lose what it has
// acknowledged. It has no bounds. Other media are compared with it.
package model

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// storedCall is a call in the medium. It is immutable: each write replaces it.
type storedCall struct {
	rec medium.Record
	// log is that of a call that is alone on its stream. logged is the last entry of a call of a
	// batch, as its writer placed it.
	log    []medium.Entry
	logged medium.Position
	// owner is the replica that holds the lease, if held.
	owner   *Replica
	held    bool
	claimed time.Time
}

// storedLog is the log of a batch. It is immutable: each write replaces it.
type storedLog struct {
	// calls are the ids of the calls that the medium knows, in the order of the log's beginning.
	calls   []string
	entries []medium.Entry
	last    medium.Position
}

// place names a stream of a session.
type place struct{ session, stream string }

func placeOf(r *medium.Record) place { return place{r.Session, r.Stream} }

// written is the state that one write replaced: calls and logs by their names, nil where there was
// none, and a session that it deleted, or the id of one that it created.
type written struct {
	created string
	session *state.Session
	calls   map[string]*storedCall
	logs    map[place]*storedLog
}

// Medium is shared by replicas. Set its fields before its first use. It is safe for concurrent use.
type Medium struct {
	// Now is its clock. nil uses time.Now.
	Now func() time.Time
	// Limits: only Lease is used. Zero fields mean the defaults.
	Limits state.Limits
	// Refuse returns the error with which the content of a valid step is refused. nil refuses none.
	Refuse func(w *medium.Write) error
	// LosesSessions makes Rewind lose creations of sessions, with their calls.
	LosesSessions bool
	// Random draws the random bits of the epochs of batches' logs. nil uses math/rand/v2.
	Random func() uint32
	// Bug is a planted bug, for tests of tests.
	Bug Bug

	mu       sync.Mutex
	sessions map[string]*state.Session
	calls    map[string]*storedCall
	logs     map[place]*storedLog
	// ids are the ids of calls in the order of their first appearance.
	ids      []string
	undo     []written
	replicas []*Replica
	away     error
	// back is the time at which the medium last became available again.
	back time.Time
}

// Replica is a Medium as seen by one replica.
type Replica struct {
	m         *Medium
	hooks     medium.Hooks
	beat      time.Time
	left      bool
	followers []*follower
}

type follower struct {
	of   place
	wake func()
}

var _ medium.Store = (*Replica)(nil)

// Replica returns the view of a new replica.
func (m *Medium) Replica(h medium.Hooks) *Replica {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Now == nil {
		m.Now = time.Now
	}
	if m.calls == nil {
		m.calls, m.sessions, m.logs = map[string]*storedCall{}, map[string]*state.Session{}, map[place]*storedLog{}
	}
	if m.Random == nil {
		m.Random = rand.Uint32
	}
	m.Limits = m.Limits.OrDefaults()
	r := &Replica{m: m, hooks: h, beat: m.Now()}
	m.replicas = append(m.replicas, r)
	return r
}

// Away makes every operation fail with state.ErrUnavailable, or ends that. It notifies no replica:
// see Return.
func (m *Medium) Away(away bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.away = nil; away {
		m.away = state.ErrUnavailable
	} else if m.Now != nil {
		m.back = m.Now()
	}
}

// Return notifies every replica that the medium was away, each in a goroutine.
func (m *Medium) Return() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.replicas {
		if r.hooks.Returning != nil {
			go r.hooks.Returning()
		}
	}
}

// Rewind loses the last k writes about calls and deletions of sessions, or all if there are fewer,
// and of sessions nothing else unless LosesSessions is set.
func (m *Medium) Rewind(k int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for ; k > 0 && len(m.undo) > 0; k-- {
		last := m.undo[len(m.undo)-1]
		m.undo = m.undo[:len(m.undo)-1]
		for id, c := range last.calls {
			restore(m.calls, id, c)
		}
		for at, l := range last.logs {
			restore(m.logs, at, l)
		}
		switch {
		case last.created != "":
			m.drop(last.created, nil)
		case last.session != nil:
			m.sessions[last.session.ID] = last.session
		}
	}
}

// Writes returns how many writes Rewind can lose.
func (m *Medium) Writes() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.undo)
}

func restore[K comparable, V any](m map[K]*V, key K, before *V) {
	if before == nil {
		delete(m, key)
		return
	}
	m[key] = before
}

// drop deletes a session and, unless a bug leaves them, its calls and logs, which it adds to before.
// The caller holds m.mu.
func (m *Medium) drop(session string, before *written) {
	delete(m.sessions, session)
	if before != nil && m.bug(DeleteLeavesCalls) {
		return
	}
	for id, c := range m.calls {
		if c.rec.Session == session {
			delete(m.calls, id)
			if before != nil {
				before.calls[id] = c
			}
		}
	}
	for at, l := range m.logs {
		if at.session == session {
			delete(m.logs, at)
			if before != nil {
				before.logs[at] = l
			}
		}
	}
}

// Snapshot copies the state of all calls. back restores the copy, as Rewind does.
func (m *Medium) Snapshot() (back func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	calls, logs := maps.Clone(m.calls), maps.Clone(m.logs)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.calls, m.logs, m.undo = maps.Clone(calls), maps.Clone(logs), nil
	}
}

// Has reports whether the medium has a session, also while it is away.
func (m *Medium) Has(session string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sessions[session] != nil
}

// Call returns a call as the medium has it, with the log of its stream, or false.
func (m *Medium) Call(id string) (medium.Record, []medium.Entry, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.calls[id]
	if c == nil {
		return medium.Record{}, nil, false
	}
	if l := m.logs[placeOf(&c.rec)]; l != nil {
		return c.rec, l.entries, true
	}
	return c.rec, c.log, true
}

// Records returns all calls.
func (m *Medium) Records() (out []medium.Record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range m.ids {
		if c := m.calls[id]; c != nil {
			out = append(out, c.rec)
		}
	}
	return out
}

// op begins an operation. It always locks m.mu; the caller unlocks it.
func (m *Medium) op(ctx context.Context) error {
	m.mu.Lock()
	if err := ctx.Err(); err != nil {
		return err
	}
	return m.away
}

// put replaces calls, and the log of their batch if it is not nil, in one write. All are of one
// stream. The caller holds m.mu.
func (m *Medium) put(calls map[string]*storedCall, log *storedLog) {
	before, at := written{calls: map[string]*storedCall{}}, place{}
	for _, id := range slices.Sorted(maps.Keys(calls)) {
		if !slices.Contains(m.ids, id) {
			m.ids = append(m.ids, id)
		}
		before.calls[id], at = m.calls[id], placeOf(&calls[id].rec)
		m.calls[id] = calls[id]
	}
	if log != nil {
		before.logs = map[place]*storedLog{at: m.logs[at]}
		m.logs[at] = log
	}
	m.undo = append(m.undo, before)
	for _, r := range m.replicas {
		for _, f := range r.followers {
			if f.of == at {
				f.wake()
			}
		}
	}
}

// lost reports whether a replica has left or was silent for longer than the lease while it could
// beat.
func (m *Medium) lost(r *Replica) bool {
	since := r.beat
	if m.back.After(since) && !m.bug(LapsesWhileAway) {
		since = m.back
	}
	return r.left || m.Now().Sub(since) > m.Limits.Lease
}
