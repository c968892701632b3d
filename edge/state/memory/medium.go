package memory

import (
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// Medium is the memory that replicas share. It is safe for concurrent use and must not be copied.
type Medium struct {
	limits     state.Limits
	clock      func() time.Time
	start      time.Time
	sessions   sync.Map // id → *session
	erased     sync.Map // id → *tombstone
	principals principals
	running    sync.Map // id → *session, those with calls that are not done, for Beat

	closed atomic.Bool
	armed  atomic.Bool
	mu     sync.Mutex // guards timer
	timer  *time.Timer

	accounts *Accounts
	budget   *budget.Budget
	// reclaimed is when memory was last reclaimed, since start.
	reclaimed atomic.Int64

	sessionCount, streamCount, tombstones atomic.Int64
	// bytes is the sum over all sessions.
	bytes              atomic.Int64
	dropped, rollbacks atomic.Uint64
}

// Option configures a Medium.
type Option func(*Medium)

// New makes an empty medium. Zero fields of l mean the defaults.
func New(l state.Limits, opts ...Option) *Medium {
	m := &Medium{limits: l.OrDefaults(), clock: time.Now}
	for _, o := range opts {
		o(m)
	}
	m.start = m.clock()
	if m.accounts == nil {
		m.accounts = new(Accounts)
	}
	return m
}

// Store returns a new incarnation of a replica; its id is only used in messages. An earlier one
// with the same id is another replica. The medium is never away, so it does not call h.Returning.
func (m *Medium) Store(id string, h medium.Hooks) *Store {
	r := &Store{m: m, id: id, onEvent: h.Event}
	r.handlers.SetLimit(maxHandlers)
	r.beat.Store(int64(m.clock().Sub(m.start)))
	return r
}

// Close ends the medium: every later operation returns state.ErrUnavailable. It may be called more
// than once.
func (m *Medium) Close() {
	m.closed.Store(true)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.timer != nil {
		m.timer.Stop()
	}
}

// Stats counts the content and the losses of a medium.
type Stats struct {
	// Sessions and Streams (finished ones included) in memory.
	Sessions, Streams int
	// Bytes is the sum of the sizes of all sessions for Limits.SessionBytes.
	Bytes int
	// Dropped counts the progress and log messages dropped because of the bounds on logs.
	Dropped uint64
	// Rollbacks counts positions and writes that refer to entries which the medium lacks.
	Rollbacks uint64
}

// Stats returns the current numbers.
func (m *Medium) Stats() Stats {
	return Stats{
		Sessions: int(m.sessionCount.Load()), Streams: int(m.streamCount.Load()), Bytes: int(m.bytes.Load()),
		Dropped: m.dropped.Load(), Rollbacks: m.rollbacks.Load(),
	}
}

// sessionsIn visits the sessions of a map by id.
func sessionsIn(m *sync.Map) iter.Seq[*session] {
	return func(yield func(*session) bool) {
		m.Range(func(_, s any) bool { return yield(s.(*session)) })
	}
}

// lock finds a live session and locks it.
func (m *Medium) lock(id string, now time.Time) (*session, error) {
	if v, ok := m.sessions.Load(id); ok {
		s := v.(*session)
		s.mu.Lock()
		if !s.gone && !m.expired(s, now) {
			return s, nil
		}
		m.erase(s)
		s.mu.Unlock()
		m.principals.release(s)
	}
	return nil, fmt.Errorf("session %s: %w", mcp.SessionPrint(id), state.ErrNotFound)
}

// expired reports whether nothing keeps the locked session alive.
func (m *Medium) expired(s *session, now time.Time) bool {
	if now.Sub(s.used) <= m.limits.SessionTTL || len(s.running) > 0 || !now.After(s.record.Keep) {
		return false
	}
	for _, fs := range s.followers {
		for f := range fs {
			if !f.replica.lost(now) {
				return false
			}
		}
	}
	return true
}

// erase removes the locked session from the medium. principals.release must follow, without the
// lock.
func (m *Medium) erase(s *session) {
	if s.gone {
		return
	}
	s.gone = true
	s.memory.Release()
	m.sessions.CompareAndDelete(s.id, s)
	m.sessionCount.Add(-1)
	m.streamCount.Add(-int64(len(s.streams)))
	m.charge(s, -s.bytes)
	m.accounts.close(s.account)
	m.running.CompareAndDelete(s.id, s)
	for stream := range s.followers {
		s.wake(stream)
	}
	s.streams, s.finished, s.calls, s.requests, s.asks, s.running = nil, nil, nil, nil, nil, nil
}
