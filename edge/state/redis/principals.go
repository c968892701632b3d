package redis

import (
	"context"
	"fmt"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

// acquire counts a session that is about to be created; isNew is false if it was counted before.
// The count keeps a session half its lifetime longer than it lives without use. At the bound,
// sessions that may have ended are checked, once a second.
func (r *Replica) acquire(ctx context.Context, key string, s *state.Session) (isNew bool, err error) {
	life := max(r.limits.SessionTTL.Milliseconds()*3/2, 1)
	for check := 1; ; check = 0 {
		v, err := r.eval(ctx, acquireScript, []string{key}, escapeID(s.ID), r.limits.SessionsPerPrincipal, life, check)
		if err != nil {
			return false, err
		}
		list, _ := v.([]any)
		rep := reply{rest: list}
		if code := rep.text(0); code != "full" {
			return code == "ok", nil
		}
		freed, err := r.removeErased(ctx, key, rep.texts(1))
		switch {
		case err != nil:
			return false, err
		case !freed:
			return false, fmt.Errorf("principal %.80q has %d sessions, end one first: %w",
				s.Principal.Subject, r.limits.SessionsPerPrincipal, state.ErrLimit)
		}
	}
}

// removeErased removes the sessions that do not exist any more from the count. freed is true if there
// was one.
func (r *Replica) removeErased(ctx context.Context, key string, tags []string) (freed bool, err error) {
	keys := make([]string, len(tags))
	for i, tag := range tags {
		keys[i] = r.tagged(tag)
	}
	there, err := r.exist(ctx, keys)
	var gone []any
	for i, exists := range there {
		if !exists {
			gone = append(gone, tags[i])
		}
	}
	if err != nil || len(gone) == 0 {
		return false, err
	}
	err = r.send(ctx, key, func() error { return r.client.ZRem(ctx, key, gone...).Err() })
	return err == nil, err
}

// Of implements medium.Replicas.
func (r *Replica) Of(ctx context.Context, owner mcp.Principal) ([]string, error) {
	tags, err := r.client.ZRange(ctx, r.principal(owner), 0, -1).Result()
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	ids := make([]string, len(tags))
	for i, tag := range tags {
		ids[i] = idOf(tag)
	}
	return ids, nil
}

// release uncounts a session.
func (r *Replica) release(ctx context.Context, key, id string) {
	actx, cancel := detachedContext(ctx)
	defer cancel()
	if err := r.send(actx, key, func() error { return r.client.ZRem(actx, key, escapeID(id)).Err() }); err != nil {
		r.log.Warn("an ended session still counts against the limit of its principal for a while", "error", err)
	}
}
