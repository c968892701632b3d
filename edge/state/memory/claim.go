package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// takeLease gives this replica the lease of a call that was just claimed.
func (r *Store) takeLease(c *storedCall, random uint32, now time.Time) {
	c.owner, c.held, c.claimed = r, true, now
	if c.Batch > 0 {
		c.stream.epoch = c.stream.epoch.Next(random)
	}
}

// owned returns the result of a claim of a locked session's call, for its owner.
func (s *session) owned(c *storedCall) *medium.Owned {
	rec := c.Record
	return &medium.Owned{Record: &rec, Session: s.record}
}

// Claim implements medium.Calls.
func (r *Store) Claim(ctx context.Context, w medium.ClaimTarget) (*medium.Owned, error) {
	s, now, err := r.enter(ctx, w.Session)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	c := s.calls[w.Call]
	if w.RequestID != "" {
		c = s.requests[w.RequestID]
	}
	switch {
	case c == nil || r.m.lapsed(c.stream, now) || w.Misses(c.Deadline):
		return nil, fmt.Errorf("call %s of request %.40s: %w", medium.NameOf(w.Session, w.Call), w.RequestID, state.ErrNotFound)
	case c.Phase == state.PhaseDone:
		return nil, fmt.Errorf("call %s is done: %w", medium.NameOf(c.Session, c.ID), state.ErrFenced)
	case c.claimedBy(r, w.Random):
		return s.owned(c), nil
	case w.Epoch != 0 && w.Epoch != c.Epoch:
		return nil, fmt.Errorf("call %s is at epoch %d, not %d: %w", medium.NameOf(c.Session, c.ID), c.Epoch, w.Epoch, state.ErrFenced)
	case w.Epoch != 0 && !c.held && c.Phase == state.PhaseWaiting && c.Missing() > 0 && !c.late(now):
		return nil, fmt.Errorf("call %s waits for its client: %w", medium.NameOf(c.Session, c.ID), state.ErrFenced)
	}
	next := c.Record
	next.Claim(w.Random, w.Lapsed && c.held, w.Cancel, w.CancelledBy)
	r.m.setRecord(s, c, &next)
	r.takeLease(c, w.Random, now)
	return s.owned(c), nil
}

// Answer implements medium.Calls.
func (r *Store) Answer(ctx context.Context, id, ask string, a state.Answer, random uint32) (state.AnswerStatus, *medium.Owned, error) {
	s, now, err := r.enter(ctx, id)
	if err != nil {
		return state.AnswerUnknown, nil, err
	}
	defer s.mu.Unlock()
	c := s.asks[ask]
	if c == nil {
		return state.AnswerUnknown, nil, nil
	}
	if given := c.Asked[c.question(ask)].Answer; given != nil {
		switch {
		case given.Token != a.Token:
			return state.AnswerDuplicate, nil, nil
		case c.claimedBy(r, random):
			return state.AnswerCompleted, s.owned(c), nil
		}
		return state.AnswerTaken, s.owned(c), nil
	}
	if c.Phase != state.PhaseWaiting || c.held {
		return state.AnswerUnknown, nil, nil
	}
	if err := cmp.Or(r.m.fits(s, c.stream, a.Bytes()), r.m.checkAccount(s, a.Bytes(), now)); err != nil {
		return state.AnswerUnknown, nil, fmt.Errorf("call %s: %w", medium.NameOf(c.Session, c.ID), err)
	}
	// An answer is a slice of a request's body; do not keep the whole body.
	a.Result, a.Error = bytes.Clone(a.Result), bytes.Clone(a.Error)
	next := c.Record
	next.Answered(ask, a)
	out := state.AnswerTaken
	if next.Missing() == 0 {
		out = state.AnswerCompleted
		next.Claim(random, false, false, "")
	}
	r.m.setRecord(s, c, &next)
	if out == state.AnswerCompleted {
		r.takeLease(c, random, now)
	}
	return out, s.owned(c), nil
}

// Asking implements medium.Calls.
func (r *Store) Asking(ctx context.Context, id, ask string) (*medium.Record, error) {
	s, _, err := r.enter(ctx, id)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	c := s.asks[ask]
	if c == nil || c.Asked[c.question(ask)].Answer != nil || c.Phase != state.PhaseWaiting || c.held {
		return nil, nil
	}
	return s.owned(c).Record, nil
}
