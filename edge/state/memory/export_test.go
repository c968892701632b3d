package memory

import (
	"maps"
	"slices"
	"time"
)

// WithClock sets the medium's clock. The default is time.Now. It must not run backwards and must be
// safe for concurrent use. The sweep that frees memory uses real time.
func WithClock(now func() time.Time) Option {
	return func(m *Medium) { m.clock = now }
}

// Snapshot copies what there is of the calls of a session; back puts the copy in the place of what
// there is then.
func (m *Medium) Snapshot(id string) (back func()) {
	v, _ := m.sessions.Load(id)
	s := v.(*session)
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.copied()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		c := kept.copied()
		s.streams, s.calls, s.requests, s.asks, s.running, s.open, s.finished = c.streams, c.calls, c.requests, c.asks, c.running, c.open, c.finished
		m.charge(s, c.bytes-s.bytes)
		if len(s.running) > 0 {
			m.running.Store(s.id, s)
		} else {
			m.running.Delete(s.id)
		}
	}
}

// copied copies what a session has of calls and streams.
func (s *session) copied() *session {
	streams, calls := map[*stream]*stream{}, map[*storedCall]*storedCall{}
	for _, l := range s.streams {
		c := *l
		c.entries, c.calls = slices.Clone(l.entries), slices.Clone(l.calls)
		streams[l] = &c
	}
	for l, c := range streams {
		for i, one := range l.calls {
			other := *one
			other.stream = c
			calls[one], c.calls[i] = &other, &other
		}
	}
	byName := func(m map[string]*storedCall) map[string]*storedCall {
		m = maps.Clone(m)
		for k, c := range m {
			m[k] = calls[c]
		}
		return m
	}
	out := &session{streams: maps.Clone(s.streams), calls: byName(s.calls), requests: byName(s.requests), asks: byName(s.asks), open: s.open, bytes: s.bytes}
	for k, l := range out.streams {
		out.streams[k] = streams[l]
	}
	for c := range s.running {
		put(&out.running, calls[c], struct{}{})
	}
	for _, l := range s.finished {
		out.finished = append(out.finished, streams[l])
	}
	return out
}
