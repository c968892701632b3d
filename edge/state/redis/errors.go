package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// unavailable returns the error of an operation that Redis did not answer or perform: the context's
// own error if it is done, else state.ErrUnavailable with the cause.
func unavailable(ctx context.Context, err error) error {
	if end := ended(ctx); end != nil {
		return end
	}
	if why, _ := explain(err); why != "" {
		return fmt.Errorf("%w: %s: %w", state.ErrUnavailable, why, err)
	}
	return fmt.Errorf("%w: %w", state.ErrUnavailable, err)
}

// ended returns the context's error. It also does so if the deadline has passed and the timer has
// not fired: a connection has the same deadline, and may time out first.
func ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if end, ok := ctx.Deadline(); ok && !time.Now().Before(end) {
		return context.DeadlineExceeded
	}
	return nil
}

// errorReplies are the error replies by which Redis reports that it cannot serve, by their first word,
// with the remedy. lasts means that waiting does not help.
var errorReplies = []struct {
	word, why string
	lasts     bool
}{
	{"OOM", "Redis is out of memory (maxmemory, noeviction): give it more, or let sessions end", true},
	{"READONLY", "this Redis is a read-only replica: wait for the end of a failover, or name the master", true},
	{"LOADING", "Redis is loading its data: wait", false},
	{"MASTERDOWN", "this Redis is a replica that lost its master: wait for the end of a failover, or name the master", false},
	{"CLUSTERDOWN", "the Redis Cluster does not serve all slots: bring its masters back", false},
	{"TRYAGAIN", "the Redis Cluster is moving the keys: wait", false},
	{"NOREPLICAS", "Redis has too few replicas to accept writes (min-replicas-to-write)", false},
	{"MISCONF", "Redis cannot save its data and accepts no writes: look at its log", false},
	{"BUSY", "Redis is busy with a script", false},
	{"MOVED", "this Redis is part of a Cluster: connect to it as a Cluster", true},
	{"NOAUTH", "Redis wants a password", true},
	{"WRONGPASS", "Redis does not accept the user name or password", true},
	{"NOPERM", notAllowed, true},
}

// notAllowed explains an ACL.
const notAllowed = "Redis does not allow this user a command, key or channel that is needed"

// IsPermanent reports whether an error has a reply of Redis that does not change while its caller
// waits: Redis needs other settings, or its user other rights.
func IsPermanent(err error) bool {
	_, lasts := explain(err)
	return lasts
}

// explain returns the remedy for an error reply, or an empty text. lasts is true if the error
// persists until someone changes the settings of Redis or the rights of its user.
func explain(err error) (why string, lasts bool) {
	var reply redis.Error
	if !errors.As(err, &reply) {
		return "", false
	}
	text := reply.Error()
	for _, t := range errorReplies {
		// Before Redis 7 the error of a command in a script is inside the script's error.
		if redis.HasErrorPrefix(reply, t.word) || strings.HasPrefix(text, "ERR Error running script") && strings.Contains(text, ": "+t.word+" ") {
			return t.why, t.lasts
		}
	}
	// An ACL error within a script has no code of its own.
	if strings.Contains(text, "user executing the script can't") || strings.Contains(text, "ACL failure in script") {
		return notAllowed, true
	}
	return "", false
}

// unreadable reports whether a script failed because of the data that it read, such as a damaged
// record.
func unreadable(err error) bool {
	var reply redis.Error
	why, _ := explain(err)
	return errors.As(err, &reply) && strings.Contains(reply.Error(), "user_script") && why == ""
}

// noSession is the error for a session that does not exist.
func noSession(id string) error {
	return fmt.Errorf("session %s: %w", mcp.SessionPrint(id), state.ErrNotFound)
}

// kinds maps the reply codes of scripts to errors.
var kinds = map[string]error{
	"missing": state.ErrNotFound, "fenced": state.ErrFenced, "exists": state.ErrExists, "limit": state.ErrLimit, "changed": errChanged,
}

// refused returns the error of a script that refused, or nil. call is empty if the script is about the
// session alone.
func (r *Replica) refused(session, call string, rep reply) (err error) {
	switch rep.code {
	case "gone":
		return noSession(session)
	case "owned":
		return fmt.Errorf("session %s: %w", mcp.SessionPrint(session), &state.PrincipalRoomError{
			Used: int(rep.number(0)), More: int(rep.number(1)), Max: r.limits.PrincipalBytes,
		})
	case "room":
		err = &state.RoomError{Used: int(rep.number(0)), More: int(rep.number(1)), Max: r.limits.SessionBytes}
	case "rewound":
		r.rollbacks.Add(1)
		err = &medium.RewoundError{Epoch: medium.Epoch(rep.unsigned(0)), N: rep.unsigned(1)}
	case "layout":
		err = fmt.Errorf("session %s has it recorded in layout %.10s, as another release writes it, and this one in layout %d: let that release's replicas end its calls: %w",
			mcp.SessionPrint(session), rep.text(0), medium.Layout, state.ErrNotFound)
	case "sealed":
		err = fmt.Errorf("session %s: %w", mcp.SessionPrint(session), r.seals.lacks(rep.text(0)))
	default:
		err = kinds[rep.code]
		if why := rep.text(0); err != nil && why != "" {
			err = fmt.Errorf("%.200s: %w", why, err)
		}
	}
	switch {
	case err == nil:
		return nil
	case call == "":
		return fmt.Errorf("session %s: %w", mcp.SessionPrint(session), err)
	}
	return fmt.Errorf("call %s: %w", medium.NameOf(session, call), err)
}

// errChanged means that a Restore must be retried.
var errChanged = errors.New("the call was changed while it was restored")
