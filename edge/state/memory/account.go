package memory

import (
	"time"

	"github.com/mcpedge/mcpedge/edge/budget"
)

const (
	// sessionBytes is the size of a session in addition to state.Session.Bytes, for the copies that
	// replicas hold.
	sessionBytes = 3 << 10
	// streamBytes is the size of a stream in addition to its entries.
	streamBytes = 1 << 10
	// reclaimEvery is the shortest interval between two searches for memory to free.
	reclaimEvery = 100 * time.Millisecond
)

// WithBudget charges the memory of sessions to their creators: their principals, or else their
// addresses. It does not refuse writes, which were admitted before. When the budget refuses a
// holder, ended streams of its sessions without a reader are dropped early.
func WithBudget(b *budget.Budget) Option {
	return func(m *Medium) {
		m.budget = b
		b.OnRefusal(m.reclaim)
	}
}

// WithCharges is WithBudget, but nothing is dropped early: ended streams are still needed.
func WithCharges(b *budget.Budget) Option { return func(m *Medium) { m.budget = b } }

// account charges the holder of a locked session for its current size. charge calls it, and so does
// code that changes the record or the number of streams.
func (m *Medium) account(s *session) {
	if m.budget == nil || s.gone {
		return
	}
	record := int64(s.record.Bytes())
	s.memory.Settle(budget.Sessions, sessionBytes+record)
	s.memory.Settle(budget.Logs, int64(s.bytes)-record+streamBytes*int64(len(s.streams)))
}

// reclaim drops the ended streams of a holder's sessions. It returns false if there are none, or if
// the last call was too recent.
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
