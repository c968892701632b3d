// Package model is the simplest medium that keeps to the interface: in memory, for tests, and able to lose what it has
// acknowledged. It bounds nothing. What other media do is held against it.
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

// call is a call in the medium. It is replaced by every write, never changed.
type call struct {
	rec medium.Record
	log []medium.Entry
	// owner is the replica that has the lease, if held.
	owner   *Replica
	held    bool
	claimed time.Time
}

// written is what a write replaced.
type written struct {
	id     string
	before *call
}

// Medium is what replicas share. Set its fields before its first use. Safe for concurrent use.
type Medium struct {
	// Now is its clock; nil: time.Now.
	Now func() time.Time
	// Limits: only Lease counts. Zero members mean the defaults.
	Limits state.Limits
	// Refuse says, of a step that is in order, what it is refused with for what it says; nil: with nothing.
	Refuse func(w *medium.Write) error
	// Bug is planted, for tests of tests.
	Bug Bug

	mu       sync.Mutex
	sessions map[string]*state.Session
	calls    map[string]*call
	// ids are those of calls, in the order in which they first came.
	ids      []string
	undo     []written
	replicas []*Replica
	away     error
}

// Replica is a Medium as one replica sees it.
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

// Replica gives a new replica its view.
func (m *Medium) Replica(h medium.Hooks) *Replica {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Now == nil {
		m.Now = time.Now
	}
	if m.calls == nil {
		m.calls, m.sessions = map[string]*call{}, map[string]*state.Session{}
	}
	m.Limits = m.Limits.OrDefaults()
	r := &Replica{m: m, hooks: h, beat: m.Now()}
	m.replicas = append(m.replicas, r)
	return r
}

// Away makes every operation fail with state.ErrUnavailable, or ends that. Nobody is told: see Return.
func (m *Medium) Away(away bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.away = nil; away {
		m.away = state.ErrUnavailable
	}
}

// Return tells every replica that the medium was away, each in a goroutine.
func (m *Medium) Return() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.replicas {
		if r.hooks.Returning != nil {
			go r.hooks.Returning()
		}
	}
}

// Rewind loses the last k writes about calls, or all there were, and nothing of sessions.
func (m *Medium) Rewind(k int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for ; k > 0 && len(m.undo) > 0; k-- {
		last := m.undo[len(m.undo)-1]
		m.undo = m.undo[:len(m.undo)-1]
		if last.before == nil {
			delete(m.calls, last.id)
		} else {
			m.calls[last.id] = last.before
		}
	}
}

// Snapshot copies what there is of calls. back puts the copy in the place of what there is then, as Rewind does.
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

// Call is a call as the medium has it, with its log; false: it does not.
func (m *Medium) Call(id string) (medium.Record, []medium.Entry, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.calls[id]
	if c == nil {
		return medium.Record{}, nil, false
	}
	return c.rec, c.log, true
}

// Records are all calls.
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

// op begins an operation, which ends with m.mu.Unlock: in any case.
func (m *Medium) op(ctx context.Context) error {
	m.mu.Lock()
	if err := ctx.Err(); err != nil {
		return err
	}
	return m.away
}

func (m *Medium) put(id string, c *call) {
	if !slices.Contains(m.ids, id) {
		m.ids = append(m.ids, id)
	}
	m.undo = append(m.undo, written{id, m.calls[id]})
	m.calls[id] = c
	for _, r := range m.replicas {
		for _, f := range r.followers {
			if f.stream == c.rec.Stream {
				f.wake()
			}
		}
	}
}

func (m *Medium) lost(r *Replica) bool {
	return r.left || m.Now().Sub(r.beat) > m.Limits.Lease
}
