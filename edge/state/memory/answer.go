package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

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
		return state.AnswerUnknown, nil, fmt.Errorf("call %.40q: %w", c.ID, err)
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
