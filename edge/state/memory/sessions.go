package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

// Create implements medium.Sessions.
func (r *Store) Create(ctx context.Context, rec *state.Session) error {
	now, err := r.ready(ctx)
	if err != nil {
		return err
	}
	size, err := rec.Check(r.m.limits.SessionBytes)
	if err != nil {
		return err
	}
	own := *rec
	own.Subscriptions = slices.Clone(rec.Subscriptions)
	s := &session{
		id: rec.ID, principal: rec.Principal.Key(), used: now, record: &own, holders: []*Store{r},
		memory: mcp.HolderOf(r.m.budget, rec.Principal, rec.Address).Begin(), account: r.m.accounts.open(rec),
	}
	if err := r.m.admit(s, size, now); err != nil {
		r.m.charge(s, -s.bytes)
		r.m.accounts.close(s.account)
		s.memory.Release()
		return err
	}
	r.m.arm()
	return nil
}

// admit adds a new session of a size to the medium.
func (m *Medium) admit(s *session, size int, now time.Time) error {
	if err := m.checkAccount(s, size, now); err != nil {
		return fmt.Errorf("session %s: %w", mcp.SessionPrint(s.id), err)
	}
	m.charge(s, size)
	if !m.principals.acquire(m, s, now) {
		return fmt.Errorf("principal %.80q has %d sessions, end one first: %w", s.record.Principal.Subject, m.limits.SessionsPerPrincipal, state.ErrLimit)
	}
	// Count first: an erasure must never make the count negative.
	m.sessionCount.Add(1)
	if _, taken := m.sessions.LoadOrStore(s.id, s); taken {
		m.sessionCount.Add(-1)
		m.principals.release(s)
		return fmt.Errorf("session %s: %w", mcp.SessionPrint(s.id), state.ErrExists)
	}
	return nil
}

// Load implements medium.Sessions.
func (r *Store) Load(ctx context.Context, id string, use bool) (*state.SessionInfo, error) {
	s, _, err := r.find(ctx, id, use)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if use {
		return &state.SessionInfo{Session: s.record, Requests: s.requested()}, nil
	}
	expires := s.used.Add(r.m.limits.SessionTTL)
	if s.record.Keep.After(expires) {
		expires = s.record.Keep
	}
	return &state.SessionInfo{Session: s.record, OpenCalls: len(s.running), Expires: expires}, nil
}

// Update implements medium.Sessions.
func (r *Store) Update(ctx context.Context, id string, p state.Patch) (*state.Session, error) {
	s, now, err := r.enter(ctx, id)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	next, changed, err := s.record.With(p, r.m.limits.Subscriptions)
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", mcp.SessionPrint(id), err)
	}
	if changed {
		more := next.Bytes() - s.record.Bytes()
		if err := cmp.Or(r.m.fits(s, nil, more), r.m.checkAccount(s, more, now)); err != nil {
			return nil, fmt.Errorf("session %s: %w", mcp.SessionPrint(id), err)
		}
		r.m.charge(s, more)
		next.Serial++
		s.record = next
		r.m.account(s)
	}
	return s.record, nil
}

// Touch implements medium.Sessions.
func (r *Store) Touch(ctx context.Context, ids []string, use bool) (map[string]uint64, error) {
	out := make(map[string]uint64, len(ids))
	for _, id := range ids {
		s, _, err := r.find(ctx, id, use)
		switch {
		case err == nil:
			out[id] = s.record.Serial
			s.mu.Unlock()
		case !errors.Is(err, state.ErrNotFound):
			return nil, err
		}
	}
	return out, nil
}

// Delete implements medium.Sessions.
func (r *Store) Delete(ctx context.Context, id string) error {
	s, now, err := r.enter(ctx, id)
	if errors.Is(err, state.ErrNotFound) && r.m.notifiable(id, now) != nil {
		return nil
	}
	if err != nil {
		return err
	}
	r.m.tombstones.Add(1)
	if _, again := r.m.erased.Swap(id, &tombstone{s.holders, now.Add(state.NotifiableFor)}); again {
		r.m.tombstones.Add(-1)
	}
	r.m.erase(s)
	s.mu.Unlock()
	r.m.principals.release(s)
	r.m.arm()
	return nil
}
