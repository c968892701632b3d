package memory

import (
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
	case c == nil || r.m.lapsed(c.stream, now):
		return nil, fmt.Errorf("call %.40q of request %.40s: %w", w.Call, w.RequestID, state.ErrNotFound)
	case c.Phase == state.PhaseDone:
		return nil, fmt.Errorf("call %.40q is done: %w", c.ID, state.ErrFenced)
	case c.claimedBy(r, w.Random):
		return s.owned(c), nil
	case w.Epoch != 0 && w.Epoch != c.Epoch:
		return nil, fmt.Errorf("call %.40q is at epoch %d, not %d: %w", c.ID, c.Epoch, w.Epoch, state.ErrFenced)
	case w.Epoch != 0 && !c.held && c.Phase == state.PhaseWaiting && c.Missing() > 0 && !c.late(now):
		return nil, fmt.Errorf("call %.40q waits for its client: %w", c.ID, state.ErrFenced)
	}
	next := c.Record
	next.Claim(w.Random, w.Lapsed && c.held, w.Cancel, w.CancelledBy)
	r.m.setRecord(s, c, &next)
	r.takeLease(c, w.Random, now)
	return s.owned(c), nil
}
