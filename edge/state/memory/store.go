package memory

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// Store is a medium as seen by one replica. It is safe for concurrent use.
type Store struct {
	m  *Medium
	id string
	// beat is the last heartbeat since the medium's start, in nanoseconds.
	beat atomic.Int64
	left atomic.Bool
	// onEvent handles session events; nil ignores them. handlers bounds the handlers that run at
	// once.
	onEvent  func(state.SessionEvent)
	handlers errgroup.Group
}

var _ medium.Store = (*Store)(nil)

// ready returns the time, or why the medium cannot be used.
func (r *Store) ready(ctx context.Context) (time.Time, error) {
	if err := ctx.Err(); err != nil {
		return time.Time{}, err
	}
	if r.m.closed.Load() {
		return time.Time{}, fmt.Errorf("memory medium was closed: %w", state.ErrUnavailable)
	}
	return r.m.clock(), nil
}

// enter finds and locks a session, and counts a use by this replica. The caller unlocks it.
func (r *Store) enter(ctx context.Context, id string) (*session, time.Time, error) {
	return r.find(ctx, id, true)
}

// find is enter, but counts a use only with use.
func (r *Store) find(ctx context.Context, id string, use bool) (*session, time.Time, error) {
	now, err := r.ready(ctx)
	if err != nil {
		return nil, now, err
	}
	s, err := r.m.lock(id, now)
	if err == nil && use {
		s.used = now
		s.hold(r)
	}
	return s, now, err
}

// lost reports whether the replica has left or was silent for longer than the lease.
func (r *Store) lost(now time.Time) bool {
	return r.left.Load() || now.Sub(r.m.start)-time.Duration(r.beat.Load()) > r.m.limits.Lease
}

// Beat implements medium.Replicas.
func (r *Store) Beat(ctx context.Context, most int, leaving bool) ([]medium.ClaimTarget, error) {
	now, err := r.ready(ctx)
	switch {
	case err != nil:
		return nil, err
	case leaving:
		r.left.Store(true)
		return nil, nil
	case r.left.Load():
		return nil, fmt.Errorf("replica %.40q has left and cannot come back, start a new one: %w", r.id, state.ErrFenced)
	}
	r.beat.Store(int64(now.Sub(r.m.start)))
	if most <= 0 {
		return nil, nil
	}
	var out []medium.ClaimTarget
	for _, s := range r.m.runningSessions() {
		if len(out) >= most {
			break
		}
		s.mu.Lock()
		for c := range s.running {
			if c.orphaned(now) {
				out = append(out, medium.ClaimTarget{
					Session: s.id, Call: c.ID, Epoch: c.Epoch, Lapsed: c.held && c.owner.lost(now) && !c.owner.left.Load(),
				})
			}
		}
		s.mu.Unlock()
	}
	return out[:min(len(out), most)], nil
}

// runningSessions returns the sessions with calls that are not done, in a random order.
func (m *Medium) runningSessions() []*session {
	out := slices.Collect(sessionsIn(&m.running))
	rand.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] }) // #nosec G404 -- an order is no secret
	return out
}

// List implements medium.Replicas. The cursor is the last id; any text is valid, because the ids
// are ordered.
func (r *Store) List(ctx context.Context, cursor string, max int) (page []*state.SessionInfo, next string, err error) {
	if _, err := r.ready(ctx); err != nil || max <= 0 {
		return nil, cursor, err
	}
	var ids []string
	r.m.sessions.Range(func(k, _ any) bool {
		if id := k.(string); id > cursor {
			ids = append(ids, id)
		}
		return true
	})
	slices.Sort(ids)
	if len(ids) > max {
		ids = ids[:max]
		next = ids[max-1]
	}
	for _, id := range ids {
		// A missing session has just ended.
		if s, err := r.Load(ctx, id, false); err == nil {
			page = append(page, s)
		}
	}
	return page, next, ctx.Err()
}

// Of implements medium.Replicas.
func (r *Store) Of(ctx context.Context, owner mcp.Principal) ([]string, error) {
	if _, err := r.ready(ctx); err != nil {
		return nil, err
	}
	return r.m.principals.sessionsOf(owner.Key()), nil
}
