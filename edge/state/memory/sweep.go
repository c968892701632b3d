package memory

import (
	"slices"
	"time"
)

// tombstone is what remains of an erased session: the holders to notify.
type tombstone struct {
	holders []*Store
	until   time.Time
}

// notifiable returns the tombstone of a recently erased session, or nil.
func (m *Medium) notifiable(id string, now time.Time) *tombstone {
	if v, ok := m.erased.Load(id); ok && !now.After(v.(*tombstone).until) {
		return v.(*tombstone)
	}
	return nil
}

// arm ensures that a sweep will run.
func (m *Medium) arm() {
	if !m.armed.CompareAndSwap(false, true) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.closed.Load():
	case m.timer == nil:
		m.timer = time.AfterFunc(m.interval(), m.sweep)
	default:
		m.timer.Reset(m.interval())
	}
}

func (m *Medium) interval() time.Duration {
	return min(max(min(m.limits.SessionTTL, m.limits.LogTTL)/4, 50*time.Millisecond), 30*time.Second)
}

// sweep frees expired objects. It schedules itself again while any objects remain.
func (m *Medium) sweep() {
	now := m.clock()
	for s := range sessionsIn(&m.sessions) {
		s.mu.Lock()
		gone := m.freeExpired(s, now)
		s.mu.Unlock()
		if gone {
			m.principals.release(s)
		}
		if m.closed.Load() {
			break
		}
	}
	m.erased.Range(func(id, v any) bool {
		if now.After(v.(*tombstone).until) && m.erased.CompareAndDelete(id, v) {
			m.tombstones.Add(-1)
		}
		return true
	})
	m.armed.Store(false)
	if m.sessionCount.Load()+m.tombstones.Load() > 0 {
		m.arm()
	}
}

// freeExpired frees what has expired of a locked session. It reports whether that is the session, which
// principals.release must follow.
func (m *Medium) freeExpired(s *session, now time.Time) (gone bool) {
	if m.expired(s, now) {
		m.erase(s)
		return true
	}
	for _, l := range s.streams {
		if m.lapsed(l, now) {
			m.dropStream(s, l)
		}
	}
	return false
}

// lapsed reports whether a finished stream can no longer be replayed.
func (m *Medium) lapsed(l *stream, now time.Time) bool {
	return l.unfinished == 0 && now.Sub(l.ended) > m.limits.LogTTL && now.After(l.keep)
}

// dropStream removes a finished stream of a locked session, and its calls.
func (m *Medium) dropStream(s *session, l *stream) {
	for _, c := range l.calls {
		delete(s.calls, c.ID)
		if s.requests[c.RequestID] == c {
			delete(s.requests, c.RequestID)
		}
	}
	delete(s.streams, l.name)
	if i := slices.Index(s.finished, l); i >= 0 {
		s.finished = slices.Delete(s.finished, i, i+1)
	}
	m.charge(s, -l.bytes)
	m.streamCount.Add(-1)
}
