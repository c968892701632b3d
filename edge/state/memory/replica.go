package memory

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
)

// Replica is a medium as one replica sees it. Safe for concurrent use.
type Replica struct {
	m  *Medium
	id string
	// beat is the last one, since the medium's start, in nanoseconds.
	beat   atomic.Int64
	left   atomic.Bool
	answer atomic.Pointer[func(state.Bell)]
	// bells bounds the handlers that run at once.
	bells chan struct{}
}

var _ state.Store = (*Replica)(nil)

// ready gives the time, or why the medium cannot be used.
func (r *Replica) ready(ctx context.Context) (time.Time, error) {
	if err := ctx.Err(); err != nil {
		return time.Time{}, err
	}
	if r.m.closed.Load() {
		return time.Time{}, fmt.Errorf("memory medium was closed: %w", state.ErrUnavailable)
	}
	return r.m.clock(), nil
}

// enter finds a session, locks it, and counts that as use by this replica. The caller unlocks.
func (r *Replica) enter(ctx context.Context, id string) (*session, time.Time, error) {
	now, err := r.ready(ctx)
	if err != nil {
		return nil, now, err
	}
	s, err := r.m.lock(id, now)
	if err != nil {
		return nil, now, err
	}
	s.used = now
	s.hold(r)
	return s, now, nil
}

// lost says whether the replica left or was silent for longer than the lease.
func (r *Replica) lost(now time.Time) bool {
	return r.left.Load() || now.Sub(r.m.start)-time.Duration(r.beat.Load()) > r.m.limits.Lease
}

// Beat implements state.Replicas.
func (r *Replica) Beat(ctx context.Context) error {
	now, err := r.ready(ctx)
	if err != nil {
		return err
	}
	if r.left.Load() {
		return fmt.Errorf("replica %.40q has left and cannot come back, start a new one: %w", r.id, state.ErrFenced)
	}
	r.beat.Store(int64(now.Sub(r.m.start)))
	return nil
}

// Leave implements state.Replicas.
func (r *Replica) Leave(ctx context.Context) error {
	if _, err := r.ready(ctx); err != nil {
		return err
	}
	r.left.Store(true)
	return nil
}

// Orphans implements state.Replicas.
func (r *Replica) Orphans(ctx context.Context, max int, runs func(state.Which) bool) ([]state.Which, error) {
	now, err := r.ready(ctx)
	if err != nil || max <= 0 {
		return nil, err
	}
	var out, own []state.Which
	r.m.running.each(func(s *session) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		for c := range s.running {
			w := state.Which{Session: s.id, Call: c.ID, Epoch: c.epoch, Lapsed: c.held && c.owner.lost(now) && !c.owner.left.Load()}
			switch {
			case c.orphan(now):
				out = append(out, w)
			case runs != nil && c.held && c.owner == r:
				own = append(own, w)
			}
		}
		return len(out) < max
	})
	out = append(out, slices.DeleteFunc(own, runs)...)
	return out[:min(len(out), max)], nil
}
