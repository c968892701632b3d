package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// pageSize is the page size that the medium chooses.
const pageSize = 256

// add appends an entry to a log of a locked session. It assigns a place to an entry without one.
func (m *Medium) add(s *session, l *stream, e medium.Entry) {
	soft := e.Kind.Droppable()
	if soft && len(e.Data) > m.limits.LogBytes {
		m.dropped.Add(1)
		return
	}
	if e.Seq == 0 {
		l.seq++
		e.Epoch, e.Seq = l.epoch, l.seq
	}
	l.entries = append(l.entries, e)
	l.bytes += len(e.Data)
	if soft {
		l.droppable++
	}
	m.charge(s, len(e.Data))
	m.bound(s, l)
}

// bound drops the oldest droppable entries of a log of a locked session until the bounds of the log, of
// the session and of its owner hold.
func (m *Medium) bound(s *session, l *stream) {
	for l.droppable > 0 && (len(l.entries) > m.limits.LogEvents || l.bytes > m.limits.LogBytes) {
		m.dropOldest(s, l)
	}
	m.makeRoom(s, l, 0)
	m.trimAccount(s, l)
}

// charge adds n bytes, which may be negative, to the size of a locked session.
func (m *Medium) charge(s *session, n int) {
	s.bytes += n
	m.bytes.Add(int64(n))
	s.account.bytes.Add(int64(n))
	m.account(s)
}

// makeRoom drops finished streams of a locked session, the oldest first, and then droppable entries of a
// log, which may be nil, until more bytes fit. It returns false if they still do not fit.
func (m *Medium) makeRoom(s *session, l *stream, more int) bool {
	for s.bytes+more > m.limits.SessionBytes {
		switch {
		case len(s.finished) > 0:
			m.dropStream(s, s.finished[0])
		case l != nil && l.droppable > 0:
			m.dropOldest(s, l)
		default:
			return false
		}
	}
	return true
}

// dropOldest drops the oldest droppable entry of a log of a locked session; there must be one. The few
// pinned entries before it move up by one.
func (m *Medium) dropOldest(s *session, l *stream) {
	i := 0
	for !l.entries[i].Kind.Droppable() {
		i++
	}
	n := len(l.entries[i].Data)
	copy(l.entries[1:i+1], l.entries[:i])
	l.entries[0] = medium.Entry{}
	l.entries = l.entries[1:]
	l.bytes -= n
	l.droppable--
	m.charge(s, -n)
	m.dropped.Add(1)
}

// fits makes room for more bytes, or returns an error if it cannot.
func (m *Medium) fits(s *session, l *stream, more int) error {
	if more <= 0 || m.makeRoom(s, l, more) {
		return nil
	}
	return &state.RoomError{Used: s.bytes, More: more, Max: m.limits.SessionBytes}
}

// Summaries implements medium.Logs.
func (r *Store) Summaries(ctx context.Context, sessions []string, stream string) ([]*medium.Summary, error) {
	now, err := r.ready(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]*medium.Summary, len(sessions))
	for i, id := range sessions {
		s, err := r.m.lock(id, now)
		if err != nil {
			continue
		}
		if l := s.streams[stream]; l != nil && !r.m.lapsed(l, now) {
			out[i] = s.summary(l.calls[0])
		}
		s.mu.Unlock()
	}
	return out, nil
}

// summary returns the Summary of a call of a locked session.
func (s *session) summary(c *storedCall) *medium.Summary {
	g := &medium.Summary{Session: s.record, Brief: c.Brief, Ended: c.Phase == state.PhaseDone}
	if c.Phase == state.PhaseWaiting && !c.held {
		for i := range c.Asked {
			if q := &c.Asked[i]; q.Answer == nil {
				g.Waits = append(g.Waits, q.ID)
			}
		}
	}
	return g
}

// Read implements medium.Logs.
func (r *Store) Read(ctx context.Context, id, stream string, after medium.Position, most int) (medium.Page, error) {
	s, now, err := r.find(ctx, id, false)
	if err != nil {
		return medium.Page{}, err
	}
	defer s.mu.Unlock()
	l := s.streams[stream]
	if l == nil || r.m.lapsed(l, now) {
		return medium.Page{}, fmt.Errorf("stream %.40q: %w", stream, state.ErrNotFound)
	}
	records := make([]*medium.Record, len(l.calls))
	for i, c := range l.calls {
		records[i] = &c.Record
	}
	p := medium.PageOf(l.entries, l.last(), records, after)
	if p.Trace = l.calls[0].Trace; p.Ahead {
		r.m.rollbacks.Add(1)
	}
	if most <= 0 {
		most = pageSize
	}
	if len(p.Entries) > most && !p.Ahead {
		p.Entries, p.More, p.Ended = p.Entries[:most], true, false
	}
	p.Entries = slices.Clone(p.Entries)
	return p, nil
}
