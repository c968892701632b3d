package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/mcpedge/mcpedge/edge/state"
)

// pageSize is the medium's choice.
const pageSize = 256

// Append implements state.Log.
func (r *Replica) Append(ctx context.Context, w state.Write, entries ...state.Entry) error {
	s, c, err := r.write(ctx, w)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	if c == nil {
		return nil
	}
	if err := r.m.admitAll(entries); err != nil {
		return err
	}
	r.m.addAll(s, c, entries)
	if w.Dispatched {
		c.phase = state.PhaseDispatched
	}
	c.n = w.N
	if len(entries) > 0 {
		s.wake(w.Stream)
	}
	return nil
}

// admitAll says why entries cannot be appended.
func (m *Medium) admitAll(entries []state.Entry) error {
	for i := range entries {
		if err := m.admit(&entries[i]); err != nil {
			return err
		}
	}
	return nil
}

// addAll appends entries of a call of a locked session.
func (m *Medium) addAll(s *session, c *call, entries []state.Entry) {
	if len(entries) > 0 {
		c.stream.entries = slices.Grow(c.stream.entries, len(entries)+1) // a response may follow
	}
	for _, e := range entries {
		switch {
		case e.Kind == state.EntryProgress && (!c.hasProgress || e.Progress > c.progress):
			c.progress, c.hasProgress = e.Progress, true
		case e.Kind == state.EntryNotice && e.Completes != "":
			delete(c.open, e.Completes)
		}
		m.add(s, c.stream, e)
	}
}

// admit says why an entry cannot be appended.
func (m *Medium) admit(e *state.Entry) error {
	switch e.Kind {
	case state.EntryProgress, state.EntryLog:
		return nil
	case state.EntryNotice, state.EntryRequest:
		return m.bounded("an entry", len(e.Data))
	case state.EntryResponse:
		return fmt.Errorf("a response cannot be appended, it ends the call: use Finish")
	default:
		return fmt.Errorf("entry of unknown kind %d", e.Kind)
	}
}

// bounded holds a length against ResultBytes.
func (m *Medium) bounded(what string, n int) error {
	if n <= m.limits.ResultBytes {
		return nil
	}
	return fmt.Errorf("%s of %d bytes, at most %d can be kept: %w", what, n, m.limits.ResultBytes, state.ErrTooLarge)
}

// add appends to a log of a locked session and counts what had to go.
func (m *Medium) add(s *session, l *stream, e state.Entry) {
	before := l.bytes
	dropped := l.add(e, &m.limits)
	m.charge(s, l.bytes-before)
	if dropped > 0 {
		m.dropped.Add(uint64(dropped))
	}
	m.makeRoom(s, l, 0)
}

// charge counts bytes that a locked session keeps from now on, or, below zero, keeps no more.
func (m *Medium) charge(s *session, n int) {
	s.bytes += n
	m.bytes.Add(int64(n))
	m.account(s)
}

// makeRoom forgets finished streams of a locked session, and then drops what may be dropped of a log, which may be
// nil, until so many bytes more fit; false when what is left does not let them fit.
func (m *Medium) makeRoom(s *session, l *stream, more int) bool {
	for !m.room(s, more) {
		if l == nil || l.droppable == 0 {
			return false
		}
		before := l.bytes
		l.dropOldest()
		m.charge(s, l.bytes-before)
		m.dropped.Add(1)
	}
	return true
}

// fits makes room for so many bytes more, or says why there is none.
func (m *Medium) fits(s *session, l *stream, more int) error {
	if more <= 0 || m.makeRoom(s, l, more) {
		return nil
	}
	return &state.RoomError{Used: s.bytes, More: more, Max: m.limits.SessionBytes}
}

// room forgets finished streams of a locked session, the oldest first, until so many bytes more fit;
// false when what is left does not let them fit.
func (m *Medium) room(s *session, more int) bool {
	for s.bytes+more > m.limits.SessionBytes {
		if len(s.finished) == 0 {
			return false
		}
		m.dropStream(s, s.finished[0])
	}
	return true
}

// trim forgets the oldest finished streams of a locked session, so that no more are kept than may be.
func (m *Medium) trim(s *session) {
	for len(s.finished) > m.limits.StreamsPerSession {
		m.dropStream(s, s.finished[0])
	}
}

// Read implements state.Log.
func (r *Replica) Read(ctx context.Context, id string, after state.Position, max int) (state.Page, error) {
	now, err := r.ready(ctx)
	if err != nil {
		return state.Page{}, err
	}
	s, err := r.m.lock(id, now)
	if err != nil {
		return state.Page{}, err
	}
	defer s.mu.Unlock()
	l := s.streams[after.Stream]
	if l == nil || r.m.lapsed(l, now) || after.Epoch > state.MaxPosition ||
		state.EpochCounter(after.Epoch) > state.EpochCounter(l.epoch)+state.MaxAhead {
		return state.Page{}, fmt.Errorf("stream %.40q: %w", after.Stream, state.ErrNotFound)
	}
	if max <= 0 {
		max = pageSize
	}
	from, rewound, ahead := l.place(after)
	if rewound || ahead {
		r.m.rollbacks.Add(1)
	}
	if ahead {
		return state.Page{Epoch: l.epoch, Trace: l.calls[0].Trace, Ahead: true, AtEnd: true, Ended: l.unfinished == 0}, nil
	}
	page := l.page(from, max)
	page.Rewound = rewound
	return page, nil
}
