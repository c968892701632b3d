package redis

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

// acquire counts a session that is about to be created; isNew is false if it was counted before.
// The count keeps a session half its lifetime longer than it lives without use. At the bound,
// sessions that may have ended are checked, once a second.
func (r *Replica) acquire(ctx context.Context, key string, s *state.Session) (isNew bool, err error) {
	for check := 1; ; check = 0 {
		code, suspects, err := r.reserve(ctx, key, s.ID, check)
		if err != nil {
			return false, err
		}
		if code != "full" {
			return code == "ok", nil
		}
		freed := false
		if len(suspects) > 0 {
			if freed, err = r.removeErased(ctx, key, suspects); err != nil {
				return false, err
			}
		}
		if !freed {
			return false, fmt.Errorf("principal %.80q has %d sessions, end one first: %w",
				s.Principal.Subject, r.limits.SessionsPerPrincipal, state.ErrLimit)
		}
	}
}

func (r *Replica) reserve(ctx context.Context, key, id string, check int) (code string, suspects []string, err error) {
	if err := ctx.Err(); err != nil {
		return "", nil, err
	}
	life := max(r.limits.SessionTTL.Milliseconds()*3/2, 1)
	v, err := r.eval(ctx, acquireScript, []string{key}, escapeID(id), r.limits.SessionsPerPrincipal, life, check)
	if err != nil {
		return "", nil, unavailable(ctx, err)
	}
	list, _ := v.([]any)
	rep := reply{rest: list}
	for _, m := range rep.list(1) {
		if name, ok := m.(string); ok {
			suspects = append(suspects, name)
		}
	}
	return rep.text(0), suspects, nil
}

// removeErased removes the sessions that do not exist any more from the count. freed is true if there
// was one.
func (r *Replica) removeErased(ctx context.Context, key string, tags []string) (freed bool, err error) {
	there := make([]*redis.IntCmd, len(tags))
	err = r.pipe(ctx, func(p redis.Pipeliner) {
		for i, tag := range tags {
			there[i] = p.Exists(ctx, r.tagged(tag))
		}
	})
	if err != nil {
		return false, unavailable(ctx, err)
	}
	var gone []any
	for i, tag := range tags {
		if there[i].Val() == 0 {
			gone = append(gone, tag)
		}
	}
	if len(gone) == 0 {
		return false, nil
	}
	if err := r.send(ctx, key, func() error { return r.client.ZRem(ctx, key, gone...).Err() }); err != nil {
		return false, unavailable(ctx, err)
	}
	return true, nil
}

// Of implements medium.Replicas.
func (r *Replica) Of(ctx context.Context, owner mcp.Principal) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
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
