// Package model is the reference medium: in memory, for tests, and able to lose what it has
// acknowledged. It has no bounds. Other media are compared with it.
package model

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// storedCall is a call in the medium. It is immutable: each write replaces it.
type storedCall struct {
	rec medium.Record
	log []medium.Entry
	// owner is the replica that holds the lease, if held.
	owner   *Replica
	held    bool
	claimed time.Time
}

// written is the state that a write replaced: one call, a session with its calls, or none, where it
// created a session.
type written struct {
	id      string
	created string
	before  *storedCall
	session *state.Session
	calls   map[string]*storedCall
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
	// Bug is a planted bug, for tests of tests.
	Bug Bug

	mu       sync.Mutex
	sessions map[string]*state.Session
	calls    map[string]*storedCall
	// ids are the ids of calls in the order of their first appearance.
	ids      []string
	undo     []written
	replicas []*Replica
	away     error
	// back is when the medium was away last.
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
	stream string
	wake   func()
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
		m.calls, m.sessions = map[string]*storedCall{}, map[string]*state.Session{}
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
		switch {
		case last.created != "":
			delete(m.sessions, last.created)
			maps.DeleteFunc(m.calls, func(_ string, c *storedCall) bool { return c.rec.Session == last.created })
		case last.session != nil:
			m.sessions[last.session.ID] = last.session
			maps.Copy(m.calls, last.calls)
		case last.before == nil:
			delete(m.calls, last.id)
		default:
			m.calls[last.id] = last.before
		}
	}
}

// Snapshot copies the state of all calls. back restores the copy, as Rewind does.
func (m *Medium) Snapshot() (back func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	calls := maps.Clone(m.calls)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.calls, m.undo = maps.Clone(calls), nil
	}
}

// Call returns a call as the medium has it, with its log, or false.
func (m *Medium) Call(id string) (medium.Record, []medium.Entry, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.calls[id]
	if c == nil {
		return medium.Record{}, nil, false
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

func (m *Medium) put(id string, c *storedCall) {
	if !slices.Contains(m.ids, id) {
		m.ids = append(m.ids, id)
	}
	m.undo = append(m.undo, written{id: id, before: m.calls[id]})
	m.calls[id] = c
	for _, r := range m.replicas {
		for _, f := range r.followers {
			if f.stream == c.rec.Stream {
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
