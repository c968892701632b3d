package memory

import (
	"time"

	"github.com/mcpedge/mcpedge/edge/budget"
)

const (
	// sessionBytes is what a session takes beside what state.Session.Bytes counts: what replicas hold of it.
	sessionBytes = 3 << 10
	// streamBytes is what a stream takes beside its entries.
	streamBytes = 1 << 10
	// reclaimEvery is the least time between two searches for what can be freed.
	reclaimEvery = 100 * time.Millisecond
)

// WithBudget charges what the medium keeps to whoever made the sessions: their principals, or else the addresses that
// they came from. What is written was admitted before. When a holder is refused something, the streams of its
// sessions that have ended, and that nobody follows, are forgotten before their time.
func WithBudget(b *budget.Budget) Option {
	return func(m *Medium) {
		m.budget = b
		b.OnRefusal(m.reclaim)
	}
}

// WithCharges is WithBudget where nothing is forgotten before its time: what has ended is still wanted.
func WithCharges(b *budget.Budget) Option { return func(m *Medium) { m.budget = b } }

// account charges the holder of a locked session with what the session keeps now. charge calls it, and whatever
// changes the record or the number of streams afterwards.
func (m *Medium) account(s *session) {
	if m.budget == nil || s.gone {
		return
	}
	record := int64(s.record.Bytes())
	s.memory.Settle(budget.Sessions, sessionBytes+record)
	s.memory.Settle(budget.Logs, int64(s.bytes)-record+streamBytes*int64(len(s.streams)))
}

// reclaim forgets the ended streams of a holder's sessions; false when there are none, or it has just looked for
// them.
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
