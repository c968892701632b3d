package memory

import (
	"time"

	"github.com/mcpedge/mcpedge/edge/budget"
)

const (
	// sessionBytes is what a session takes beside what state.Session.Bytes counts: the copies that
	// replicas hold.
	sessionBytes = 3 << 10
	// streamBytes is what a stream takes beside its entries.
	streamBytes = 1 << 10
	// reclaimEvery is the shortest interval between two searches for memory to free.
	reclaimEvery = 100 * time.Millisecond
)

// WithBudget charges what the medium keeps to the creators of the sessions: their principals, or
// else their addresses. Writes were admitted before and are never refused here. When a holder is
// refused something, the ended streams of its sessions that have no reader are dropped early.
func WithBudget(b *budget.Budget) Option {
	return func(m *Medium) {
		m.budget = b
		b.OnRefusal(m.reclaim)
	}
}

// WithCharges is WithBudget, but nothing is dropped early: ended streams are still needed.
func WithCharges(b *budget.Budget) Option { return func(m *Medium) { m.budget = b } }

// account charges the holder of a locked session with what the session keeps now. charge calls it,
// as does code that changes the record or the number of streams.
func (m *Medium) account(s *session) {
	if m.budget == nil || s.gone {
		return
	}
	record := int64(s.record.Bytes())
	s.memory.Settle(budget.Sessions, sessionBytes+record)
	s.memory.Settle(budget.Logs, int64(s.bytes)-record+streamBytes*int64(len(s.streams)))
}

// reclaim drops the ended streams of a holder's sessions. It returns false if there are none, or
// the last search is too recent.
func (m *Medium) reclaim(h *budget.Holder) (freed bool) {
	now := m.clock().Sub(m.start)
	last := m.reclaimed.Load()
	if last != 0 && now-time.Duration(last) < reclaimEvery || !m.reclaimed.CompareAndSwap(last, int64(max(now, 1))) {
		return false
	}
	m.sessions.Range(func(_, v any) bool {
		s := v.(*session)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.memory.Holder() != h {
			return true
		}
		for i := len(s.finished) - 1; i >= 0; i-- {
			if l := s.finished[i]; len(s.followers[l.name]) == 0 {
				m.dropStream(s, l)
				freed = true
			}
		}
		return true
	})
	return freed
}
