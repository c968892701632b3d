package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// Commit implements medium.Calls.
func (r *Store) Commit(ctx context.Context, w *medium.Write) error {
	if err := w.Check(r.m.limits.ResultBytes); err != nil {
		return err
	}
	s, now, err := r.enter(ctx, w.Session)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	begun, err := r.begins(s, w, now)
	if err != nil {
		return err
	}
	c, more := s.calls[w.Call], 0
	for _, b := range begun {
		if more += weight(&b.Record); b.ID == w.Call {
			c = b
		}
	}
	var next medium.Record
	if w.Call != "" {
		if err := r.fenced(c, w, now); err != nil || w.N <= c.N {
			return err
		}
		if err := s.mayAsk(c, w.Asks); err != nil {
			return err
		}
		next = c.Record
		next.Apply(w)
		more += weight(&next) - weight(&c.Record) + bytesOf(w.Asks)
	}
	var log *stream
	if c != nil {
		log = c.stream
	}
	if err := r.m.fits(s, log, more); err != nil {
		return fmt.Errorf("session %s: %w", mcp.SessionPrint(w.Session), err)
	}
	if err := r.m.fitsOwner(s, w, len(begun) > 0, more, now); err != nil {
		return err
	}
	r.m.begin(s, begun)
	if w.Call != "" {
		r.m.step(s, c, w, &next)
	}
	r.notifyBegun(s, begun)
	return nil
}

// weight returns the size of a record for SessionBytes.
func weight(r *medium.Record) int {
	if r.Phase == state.PhaseDone {
		return 0
	}
	return r.Request.Bytes() + r.KeptBytes()
}

// begins creates the calls that a write begins, and their stream, in a locked session. It returns
// none if they exist already.
func (r *Store) begins(s *session, w *medium.Write, now time.Time) ([]*storedCall, error) {
	if len(w.Begin) == 0 {
		return nil, nil
	}
	l := r.m.streamOf(s, w.Stream, now)
	if l != nil {
		return nil, r.repeated(l, w)
	}
	ends := w.Next == medium.NextDone && len(w.Begin) == 1 && w.Call != ""
	if s.open >= r.m.limits.StreamsPerSession && !ends {
		return nil, fmt.Errorf("session %s has %d unfinished streams: %w", mcp.SessionPrint(s.id), s.open, state.ErrLimit)
	}
	l = &stream{name: w.Stream, epoch: w.Begin[0].Epoch, unfinished: len(w.Begin), keep: s.record.Keep}
	for _, b := range w.Begin {
		if s.calls[b.ID] != nil {
			return nil, fmt.Errorf("call %s: %w", medium.NameOf(b.Session, b.ID), state.ErrExists)
		}
		l.calls = append(l.calls, &storedCall{Record: *b, stream: l, owner: r, held: true, claimed: now})
	}
	return l.calls, nil
}

// repeated returns why an existing stream was not begun by an earlier attempt of the write.
func (r *Store) repeated(l *stream, w *medium.Write) error {
	same := func(c *storedCall, b *medium.Record) bool {
		return c.ID == b.ID && c.Epoch == b.Epoch && c.owner == r && (w.Call != "" || c.N == 0 && c.held)
	}
	if !slices.EqualFunc(l.calls, w.Begin, same) {
		return fmt.Errorf("stream %.40q: %w", l.name, state.ErrExists)
	}
	return nil
}

// begin adds calls that begins has made, all of one stream, to their locked session.
func (m *Medium) begin(s *session, calls []*storedCall) {
	for i, c := range calls {
		if i == 0 {
			m.open(s, c.stream)
		}
		put(&s.requests, c.RequestID, c)
		m.addCall(s, c)
	}
}

// open adds an unfinished stream to a locked session.
func (m *Medium) open(s *session, l *stream) {
	put(&s.streams, l.name, l)
	s.open++
	m.streamCount.Add(1)
}

// addCall adds a call to a locked session.
func (m *Medium) addCall(s *session, c *storedCall) {
	put(&s.calls, c.ID, c)
	if len(s.running) == 0 {
		m.running.Store(s.id, s)
	}
	put(&s.running, c, struct{}{})
	m.charge(s, weight(&c.Record))
}

// fenced returns the error with which a step is refused. nil means that the step was stored before,
// or can be stored.
func (r *Store) fenced(c *storedCall, w *medium.Write, now time.Time) error {
	if c == nil || c.Stream != w.Stream || r.m.lapsed(c.stream, now) {
		r.m.rollbacks.Add(1)
		return fmt.Errorf("call %s: %w", medium.NameOf(w.Session, w.Call), &medium.RewoundError{})
	}
	switch {
	case w.Epoch < c.Epoch:
		return fmt.Errorf("call %s is at epoch %d, not %d: %w", medium.NameOf(w.Session, w.Call), c.Epoch, w.Epoch, state.ErrFenced)
	case w.Epoch == c.Epoch && c.owner != r:
		return fmt.Errorf("call %s: the lease is another replica's: %w", medium.NameOf(w.Session, w.Call), state.ErrFenced)
	case w.Epoch == c.Epoch && w.N <= c.N:
		return nil
	case w.Epoch == c.Epoch && (!c.held || c.Phase == state.PhaseDone):
		return fmt.Errorf("call %s: the lease has ended: %w", medium.NameOf(w.Session, w.Call), state.ErrFenced)
	case w.Epoch > c.Epoch, w.After > c.N, c.Batch == 0 && len(w.Entries) > 0 && c.stream.hasFrom(w.Seq):
		r.m.rollbacks.Add(1)
		return fmt.Errorf("call %s: %w", medium.NameOf(w.Session, w.Call), &medium.RewoundError{Epoch: c.Epoch, N: c.N})
	}
	return nil
}

// mayAsk returns why a call of a locked session cannot ask.
func (s *session) mayAsk(c *storedCall, asks []state.Ask) error {
	for i := range asks {
		id := asks[i].ID
		other := s.asks[id]
		if slices.ContainsFunc(asks[:i], func(a state.Ask) bool { return a.ID == id }) || other != nil && other != c && other.asks(id) {
			return fmt.Errorf("request %.40q to the client: %w", id, state.ErrExists)
		}
	}
	return nil
}

// step applies a step to a call of a locked session.
func (m *Medium) step(s *session, c *storedCall, w *medium.Write, next *medium.Record) {
	l := c.stream
	m.setRecord(s, c, next)
	c.held = w.Next != medium.NextWaiting && w.Next != medium.NextDone
	entries := w.Placed()
	m.append(s, c, entries)
	if w.Next == medium.NextDone {
		m.endStream(s, c)
	}
	if len(entries) > 0 || w.Next == medium.NextDone {
		s.wake(l.name)
	}
}

// append adds entries to the log of a call of a locked session, at their places or, in a batch, at
// new ones.
func (m *Medium) append(s *session, c *storedCall, entries []medium.Entry) {
	c.stream.entries = slices.Grow(c.stream.entries, len(entries))
	for _, e := range entries {
		if c.Batch > 0 {
			c.logged, e.Epoch, e.Seq = e.Position(), 0, 0
		}
		m.add(s, c.stream, e)
	}
}

// setRecord replaces the record of a call of a locked session.
func (m *Medium) setRecord(s *session, c *storedCall, next *medium.Record) {
	for i := range c.Asked {
		if id := c.Asked[i].ID; s.asks[id] == c {
			delete(s.asks, id)
		}
	}
	m.charge(s, weight(next)-weight(&c.Record))
	c.Record = *next
	for i := range c.Asked {
		if id := c.Asked[i].ID; s.asks[id] == nil || c.asks(id) {
			put(&s.asks, id, c)
		}
	}
}

// bytesOf returns the size of asks in the log.
func bytesOf(asks []state.Ask) (n int) {
	for i := range asks {
		n += len(asks[i].Message)
	}
	return n
}

// endStream ends the stream of a call that is done, if it was the last. It drops the oldest finished
// streams beyond StreamsPerSession.
func (m *Medium) endStream(s *session, c *storedCall) {
	delete(s.running, c)
	if len(s.running) == 0 {
		m.running.CompareAndDelete(s.id, s)
	}
	if c.stream.unfinished--; c.stream.unfinished == 0 {
		s.open--
		c.stream.ended = s.used
		s.finished = append(s.finished, c.stream)
	}
	for len(s.finished) > m.limits.StreamsPerSession {
		m.dropStream(s, s.finished[0])
	}
}
