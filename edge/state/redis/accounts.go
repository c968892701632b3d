package redis

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

// An account holds what the sessions of a caller count for Limits.PrincipalBytes, over all Replicas
// with the same Options.Accounts: see account.lua. It lends a session slightly more than the
// session needs, so that it is asked less often. If it is on the session's server, the scripts ask
// it themselves; otherwise they report that the loan is short, and run again with what lend
// obtains.

// maxLends bounds the repetitions of a script whose session grew in between.
const maxLends = 8

// account returns the key of the account of a session's owner: of its principal or, without a
// subject, of the address that it came from.
func (r *Replica) account(s *state.Session) string {
	who := "p" + s.Principal.Key()
	if s.Principal.Anonymous() {
		who = "a"
		if s.Address.IsValid() {
			who += mcp.CountedAddress(s.Address).String()
		}
	}
	sum := sha256.Sum256([]byte(who))
	return r.accounts + ":a:{" + hex.EncodeToString(sum[:16]) + "}"
}

// runLending runs a script, by run, until its caller's account has lent its session enough. The reply
// is never "short": if the session grew during each of maxLends loans, the error is
// state.ErrUnavailable, and nothing was changed.
func (r *Replica) runLending(ctx context.Context, session string, args []any, run func(args []any) (reply, error)) (reply, error) {
	for lends := 0; ; lends++ {
		p, err := run(args)
		if err != nil || p.code != "short" {
			return p, err
		}
		if lends == maxLends {
			return reply{}, fmt.Errorf("session %.40q grew %d times while its caller's account was read: %w", session, maxLends, state.ErrUnavailable)
		}
		if args, err = r.lend(ctx, session, args, p); err != nil {
			return reply{}, err
		}
	}
}

// lend borrows the bytes that a script lacked, and returns the arguments with which it can run
// again. short has the account, the maximum and the minimum of bytes to lend (0 means any), the
// duration in ms, and the wanted bytes. The error is a state.PrincipalRoomError.
func (r *Replica) lend(ctx context.Context, session string, args []any, short reply) ([]any, error) {
	account, key := short.text(0), r.session(session)
	for try := 1; ; try++ {
		v, err := r.eval(ctx, borrowScript, []string{account}, key, short.text(1), short.text(2), r.limits.PrincipalBytes, short.text(3), "0", short.text(4))
		if err != nil {
			return nil, unavailable(ctx, err)
		}
		list, _ := v.([]any)
		got := reply{rest: list}
		if got.number(0) >= short.number(4) {
			args[lentAt], args[utmostAt] = got.text(0), "0"
			return args, nil
		}
		freed, err := r.giveBackEnded(ctx, account, got.list(2))
		if err != nil {
			return nil, err
		}
		if try < 2 && freed {
			continue
		}
		if got.number(0) < 0 && short.number(2) > 0 {
			return nil, fmt.Errorf("session %.40q: %w", session, &state.PrincipalRoomError{
				Used: int(got.number(1)), More: int(short.number(2)), Max: r.limits.PrincipalBytes,
			})
		}
		args[lentAt], args[utmostAt] = max(got.number(0), 0), "1"
		return args, nil
	}
}

// giveBackEnded returns the loans of the sessions, given by key, that do not exist any more to an
// account. freed is false if there are none.
func (r *Replica) giveBackEnded(ctx context.Context, account string, keys []any) (freed bool, err error) {
	if len(keys) == 0 {
		return false, nil
	}
	there := make([]*redis.IntCmd, len(keys))
	err = r.pipe(ctx, func(p redis.Pipeliner) {
		for i, key := range keys {
			name, _ := key.(string)
			there[i] = p.Exists(ctx, name)
		}
	})
	if err != nil {
		return false, unavailable(ctx, err)
	}
	for i, key := range keys {
		if there[i].Val() > 0 {
			continue
		}
		if _, err := r.eval(ctx, borrowScript, []string{account}, key, 0, 0, 0, 0, "0"); err != nil {
			return false, unavailable(ctx, err)
		}
		freed = true
	}
	return freed, nil
}

// settle sets the bytes that an account lends a session, and the duration in ms. The next
// settlement corrects a failed one.
func (r *Replica) settle(ctx context.Context, session, account, bytes, life string) {
	if _, err := r.eval(ctx, borrowScript, []string{account}, r.session(session), bytes, bytes, 0, life, "1"); err != nil {
		r.log.Warn("the size of a session could not be charged to its caller", "error", err)
	}
}

// noPrincipalRoom is the error of a script that found no room for a caller. rep has the bytes that
// the caller keeps and those that do not fit.
func (r *Replica) noPrincipalRoom(rep reply) error {
	return &state.PrincipalRoomError{Used: int(rep.number(0)), More: int(rep.number(1)), Max: r.limits.PrincipalBytes}
}
