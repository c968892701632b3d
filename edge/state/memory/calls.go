package memory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
)

// Begin implements state.Calls.
func (r *Replica) Begin(ctx context.Context, id, name string, calls []state.Call) ([]state.Lease, error) {
	if name == "" || strings.Contains(name, ".") || len(calls) == 0 {
		return nil, fmt.Errorf("stream %.40q with %d calls: the name must have no dot, and a stream has a call", name, len(calls))
	}
	s, now, err := r.enter(ctx, id)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if l := r.m.streamOf(s, name, now); l != nil {
		return r.begun(s, l, calls)
	}
	if s.open >= r.m.limits.StreamsPerSession {
		return nil, fmt.Errorf("session %.40q has %d unfinished streams: %w", id, s.open, state.ErrLimit)
	}
	if err := s.vacant(calls); err != nil {
		return nil, err
	}
	size := 0
	for i := range calls {
		size += calls[i].Bytes()
	}
	if err := r.m.fits(s, nil, size); err != nil {
		return nil, fmt.Errorf("session %.40q: %w", id, err)
	}
	r.m.charge(s, size)
	l := &stream{name: name, epoch: state.FirstEpoch, unfinished: len(calls), calls: make([]*call, len(calls))}
	leases := make([]state.Lease, len(calls))
	if len(s.running) == 0 {
		r.m.running.add(s)
	}
	for i := range calls {
		c := &call{Call: calls[i], stream: l, phase: state.PhaseDispatched}
		leases[i] = c.lease(s, r, state.FirstEpoch)
		l.calls[i] = c
		put(&s.calls, c.ID, c)
		put(&s.requests, c.RequestID, c)
		put(&s.running, c, struct{}{})
	}
	put(&s.streams, name, l)
	s.open++
	r.m.streamCount.Add(1)
	r.m.account(s)
	return leases, nil
}

// streamOf is the stream of a locked session that has the name; nil when there is none any more.
func (m *Medium) streamOf(s *session, name string, now time.Time) *stream {
	l := s.streams[name]
	if l != nil && m.lapsed(l, now) {
		m.dropStream(s, l)
		return nil
	}
	return l
}

// vacant says whether the calls' ids can be used.
func (s *session) vacant(calls []state.Call) error {
	for i := range calls {
		if calls[i].ID == "" {
			return errors.New("a call needs an id")
		}
		taken := s.calls[calls[i].ID] != nil
		for j := range i {
			taken = taken || calls[j].ID == calls[i].ID
		}
		if taken {
			return fmt.Errorf("call %.40q: %w", calls[i].ID, state.ErrExists)
		}
	}
	return nil
}

// begun gives the leases of a stream again that was begun with the same calls.
func (r *Replica) begun(s *session, l *stream, calls []state.Call) ([]state.Lease, error) {
	same := len(calls) == len(l.calls)
	leases := make([]state.Lease, 0, len(calls))
	for i := 0; same && i < len(calls); i++ {
		c := l.calls[i]
		same = c.ID == calls[i].ID && c.owner == r && c.held && c.epoch == state.FirstEpoch && c.n == 0
		leases = append(leases, c.current(s))
	}
	if !same {
		return nil, fmt.Errorf("stream %.40q: %w", l.name, state.ErrExists)
	}
	return leases, nil
}

// Conclude implements state.Calls.
func (r *Replica) Conclude(ctx context.Context, id, name string, one state.Call, response []byte, before ...state.Entry) error {
	if name == "" || strings.Contains(name, ".") || one.ID == "" {
		return fmt.Errorf("stream %.40q of call %.40q: the name must have no dot, and the call an id", name, one.ID)
	}
	if err := r.m.bounded("a response", len(response)); err != nil {
		return err
	}
	if err := r.m.admitAll(before); err != nil {
		return err
	}
	s, now, err := r.enter(ctx, id)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	if l := r.m.streamOf(s, name, now); l != nil {
		if len(l.calls) == 1 && l.calls[0].ID == one.ID && l.unfinished == 0 {
			return nil
		}
		return fmt.Errorf("stream %.40q: %w", name, state.ErrExists)
	}
	one.Params = nil
	l := &stream{name: name, epoch: state.FirstEpoch, unfinished: 1}
	c := &call{Call: one, stream: l, phase: state.PhaseDone}
	l.calls = []*call{c}
	put(&s.streams, name, l)
	r.m.streamCount.Add(1)
	r.m.addAll(s, c, before)
	r.m.add(s, l, state.Entry{Kind: state.EntryResponse, Data: response})
	l.unfinished = 0
	s.end(l)
	r.m.trim(s)
	return nil
}

// Park implements state.Calls.
func (r *Replica) Park(ctx context.Context, w state.Write, asks []state.Ask, kept []byte) error {
	s, c, err := r.write(ctx, w)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	if c == nil {
		return nil
	}
	if err := r.m.askable(s, c, asks, kept); err != nil {
		return err
	}
	if err := r.m.fits(s, c.stream, len(kept)-c.kept+bytesOf(asks)); err != nil {
		return fmt.Errorf("call %.40q: %w", c.ID, err)
	}
	c.forget(s)
	r.m.charge(s, len(kept)-c.kept)
	c.n, c.state, c.kept = w.N, kept, len(kept)
	if len(asks) == 0 {
		c.phase = state.PhaseReady
		c.Round, c.Attempt, c.Lapses = c.Round+1, 1, 0
		return nil
	}
	c.phase, c.held, c.missing, c.open = state.PhaseWaiting, false, len(asks), nil
	c.asked = make([]question, len(asks))
	for i, a := range asks {
		c.asked[i].Ask = a
		put(&s.asks, a.ID, c)
		if a.ElicitationID != "" {
			put(&c.open, a.Key, a.ElicitationID)
		}
		r.m.add(s, c.stream, state.Entry{Kind: state.EntryRequest, Data: a.Message})
	}
	s.wake(w.Stream)
	return nil
}

// bytesOf is what the asks add to the log.
func bytesOf(asks []state.Ask) (n int) {
	for i := range asks {
		n += len(asks[i].Message)
	}
	return n
}

// askable says why a round cannot be parked with these asks.
func (m *Medium) askable(s *session, c *call, asks []state.Ask, kept []byte) error {
	if err := m.bounded("a state", len(kept)); err != nil {
		return err
	}
	seen := make(map[string]bool, len(asks))
	for i := range asks {
		if err := m.bounded("a request", len(asks[i].Message)); err != nil {
			return err
		}
		other := s.asks[asks[i].ID]
		if seen[asks[i].ID] || other != nil && other != c {
			return fmt.Errorf("request %.40q to the client: %w", asks[i].ID, state.ErrExists)
		}
		seen[asks[i].ID] = true
	}
	return nil
}

// Answer implements state.Calls.
func (r *Replica) Answer(ctx context.Context, id, ask string, a state.Answer) (state.AnswerOutcome, *state.Claim, error) {
	s, now, err := r.enter(ctx, id)
	if err != nil {
		return state.AnswerUnknown, nil, err
	}
	defer s.mu.Unlock()
	c := s.asks[ask]
	if c == nil {
		return state.AnswerUnknown, nil, nil
	}
	var q *question
	for i := range c.asked {
		if c.asked[i].ID == ask {
			q = &c.asked[i]
		}
	}
	switch {
	case !q.answered:
	case a.Token == "" || q.token != a.Token:
		return state.AnswerDuplicate, nil, nil
	case c.repeats(r, a.Token):
		return state.AnswerCompleted, c.owned(s), nil
	case c.missing > 0:
		return state.AnswerTaken, nil, nil
	default:
		return state.AnswerDuplicate, nil, nil
	}
	if err := r.m.fits(s, c.stream, a.Bytes()); err != nil {
		return state.AnswerUnknown, nil, fmt.Errorf("call %.40q: %w", c.ID, err)
	}
	r.m.charge(s, a.Bytes())
	c.kept += a.Bytes()
	// An answer is cut from a request's body, which need not be kept whole.
	q.Answer = state.Answer{Result: bytes.Clone(a.Result), Error: bytes.Clone(a.Error)}
	q.answered, q.token = true, a.Token
	if c.missing--; c.missing > 0 {
		return state.AnswerTaken, nil, nil
	}
	c.phase = state.PhaseReady
	c.Round, c.Attempt, c.Lapses = c.Round+1, 1, 0
	return state.AnswerCompleted, c.claim(s, r, a.Token, now), nil
}

// Claim implements state.Calls.
func (r *Replica) Claim(ctx context.Context, w state.Which) (*state.Claim, error) {
	s, now, err := r.enter(ctx, w.Session)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	c := s.calls[w.Call]
	if w.Call == "" {
		c = s.requests[w.RequestID]
	}
	switch {
	case c == nil || r.m.lapsed(c.stream, now):
		return nil, fmt.Errorf("call %.40q of request %.40s: %w", w.Call, w.RequestID, state.ErrNotFound)
	case c.phase == state.PhaseDone:
		return nil, fmt.Errorf("call %.40q is done: %w", c.ID, state.ErrFenced)
	case c.repeats(r, w.Token):
		return c.owned(s), nil
	case w.Call != "" && w.Epoch < c.epoch:
		return nil, fmt.Errorf("call %.40q is at epoch %d, not %d: %w", c.ID, c.epoch, w.Epoch, state.ErrFenced)
	}
	ahead := w.Call != "" && w.Epoch > c.epoch
	if c.phase == state.PhaseWaiting {
		if w.Call != "" && !ahead && !c.held && (c.Deadline.IsZero() || !now.After(c.Deadline)) {
			return nil, fmt.Errorf("call %.40q waits for its client: %w", c.ID, state.ErrFenced)
		}
		c.unask(s)
	}
	if ahead {
		c.epoch, c.phase = w.Epoch, state.PhaseDispatched
	} else if c.phase == state.PhaseDispatched {
		c.Attempt++
		if w.Lapsed {
			c.Lapses++
		}
	}
	return c.claim(s, r, w.Token, now), nil
}

// Finish implements state.Calls.
func (r *Replica) Finish(ctx context.Context, w state.Write, response []byte, before ...state.Entry) error {
	s, c, err := r.write(ctx, w)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	if c == nil {
		return nil
	}
	if err := r.m.bounded("a response", len(response)); err != nil {
		return err
	}
	if err := r.m.admitAll(before); err != nil {
		return err
	}
	r.m.charge(s, -c.Bytes()-c.kept)
	c.kept = 0
	r.m.addAll(s, c, before)
	if response != nil {
		r.m.add(s, c.stream, state.Entry{Kind: state.EntryResponse, Data: response})
	}
	c.n = w.N
	r.m.done(s, c)
	r.m.trim(s)
	s.wake(w.Stream)
	return nil
}

// done ends a call, and its stream when it was the last. Only what fences late writers is kept.
func (m *Medium) done(s *session, c *call) {
	c.forget(s)
	c.phase, c.Params, c.state, c.open = state.PhaseDone, nil, nil, nil
	delete(s.running, c)
	if len(s.running) == 0 {
		m.running.remove(s)
	}
	if c.stream.unfinished--; c.stream.unfinished == 0 {
		s.open--
		s.end(c.stream)
	}
}

// end makes a stream the last of the finished ones.
func (s *session) end(l *stream) {
	l.ended = s.used
	s.finished = append(s.finished, l)
}
