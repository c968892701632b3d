package memory

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// Restore implements medium.Calls.
func (r *Store) Restore(ctx context.Context, rec *medium.Record, entries []medium.Entry, runs bool) (medium.Verdict, error) {
	s, now, err := r.enter(ctx, rec.Session)
	if err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	c, known, err := r.m.findOrMake(s, rec, now)
	if err != nil {
		return 0, err
	}
	before, next, l := c.Record, c.Record, c.stream
	verdict := next.Merge(rec, known)
	if !known {
		if l.calls = append(l.calls, c); len(l.calls) == 1 {
			r.m.open(s, l)
		}
		if old := s.requests[rec.RequestID]; old == nil || old.Phase == state.PhaseDone {
			put(&s.requests, rec.RequestID, c)
		}
		r.m.addCall(s, c)
	}
	r.m.setRecord(s, c, &next)
	if verdict == medium.Restored && next.Epoch == rec.Epoch {
		c.owner, c.claimed = r, now
		c.held = runs && next.Phase != state.PhaseWaiting && next.Phase != state.PhaseDone
	}
	if c.owner == r && next.Epoch == rec.Epoch && !runs {
		c.held = false
	}
	if next.Batch == 0 {
		r.m.restoreEntries(s, l, medium.MergeLog(l.entries, rec, entries, &next))
	} else if lost := medium.MissingEntries(c.logged, &next, rec, entries); verdict == medium.Restored || len(lost) > 0 {
		l.epoch = max(l.epoch, next.Epoch).Next(rand.Uint32()) // #nosec G404 -- it distinguishes histories and is no secret
		r.m.append(s, c, lost)
	}
	if next.Phase == state.PhaseDone && before.Phase != state.PhaseDone {
		r.m.endStream(s, c)
	}
	s.wake(l.name)
	return verdict, nil
}

// findOrMake finds a call of a locked session. If it is unknown, it makes one that is not in the
// session yet.
func (m *Medium) findOrMake(s *session, rec *medium.Record, now time.Time) (c *storedCall, known bool, err error) {
	l := m.streamOf(s, rec.Stream, now)
	switch c = s.calls[rec.ID]; {
	case c != nil && c.stream == l:
		return c, true, nil
	case c != nil, l != nil && (rec.Batch == 0 || l.calls[0].Batch != rec.Batch || len(l.calls) == rec.Batch):
		return nil, false, fmt.Errorf("call %s of stream %.40q: %w", medium.NameOf(rec.Session, rec.ID), rec.Stream, state.ErrExists)
	case l == nil:
		l = &stream{name: rec.Stream, unfinished: max(rec.Batch, 1), keep: s.record.Keep}
	}
	return &storedCall{Record: medium.Record{Request: state.Request{ID: rec.ID}}, stream: l}, false, nil
}

// restoreEntries restores the lost entries of a log of a locked session.
func (m *Medium) restoreEntries(s *session, l *stream, entries []medium.Entry) {
	same := func(a, b medium.Entry) bool { return a.Position() == b.Position() }
	if slices.EqualFunc(l.entries, entries, same) {
		return
	}
	before := l.bytes
	l.set(entries)
	m.charge(s, l.bytes-before)
	m.bound(s, l)
}
