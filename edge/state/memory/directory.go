package memory

import (
	"context"
	"slices"

	"github.com/mcpedge/mcpedge/edge/state"
)

var _ state.Directory = (*Replica)(nil)

// Look implements state.Directory.
func (r *Replica) Look(ctx context.Context, id string) (*state.Sighting, error) {
	now, err := r.ready(ctx)
	if err != nil {
		return nil, err
	}
	s, err := r.m.lock(id, now)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	return &state.Sighting{Session: s.record, OpenCalls: len(s.running), Expires: s.used.Add(r.m.limits.SessionTTL)}, nil
}

// List implements state.Directory. The cursor is the last id, and any text is one: the ids are in order.
func (r *Replica) List(ctx context.Context, cursor string, max int) (page []*state.Sighting, next string, err error) {
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
		// What is not there any more has just ended.
		if s, err := r.Look(ctx, id); err == nil {
			page = append(page, s)
		}
	}
	return page, next, ctx.Err()
}
