package redis

import (
	"context"
	"fmt"

	"github.com/mcpedge/mcpedge/edge/state"
)

// unavailable is what an operation gives when Redis could not be asked, or would not do it: the
// context's own error when that has ended, else state.ErrUnavailable with the cause.
func unavailable(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	return fmt.Errorf("%w: %w", state.ErrUnavailable, err)
}

// noSession tells that a session is not there.
func noSession(id string) error {
	return fmt.Errorf("session %.40q: %w", id, state.ErrNotFound)
}

// kinds are the codes of scripts that are errors.
var kinds = map[string]error{
	"gone": state.ErrNotFound, "missing": state.ErrNotFound, "fenced": state.ErrFenced,
	"exists": state.ErrExists, "limit": state.ErrLimit, "rollback": state.ErrRollback,
}

// refusal is the error of a script about a call, or nil.
func (r *Replica) refusal(session, call string, rep reply) error {
	kind := kinds[rep.code]
	switch {
	case kind == nil:
		return nil
	case rep.code == "gone":
		return noSession(session)
	case kind == state.ErrRollback:
		r.rollbacks.Add(1)
	}
	if why := rep.text(0); why != "" {
		return fmt.Errorf("call %.40q: %.200s: %w", call, why, kind)
	}
	return fmt.Errorf("call %.40q: %w", call, kind)
}
