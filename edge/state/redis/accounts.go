package redis

import (
	"context"
	"fmt"

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

// account returns the key of the account of a session's caller.
func (r *Replica) account(s *state.Session) string {
	return r.accounts + ":a:{" + hexDigest(s.Caller()) + "}"
}

// lend borrows the bytes that a script lacked, and sets the arguments with which it can run again.
// short has the account, the maximum and the minimum of bytes to lend (0 means any), the duration in
// ms, and the wanted bytes. The error is a state.PrincipalRoomError.
func (r *Replica) lend(ctx context.Context, session string, args []any, short reply) error {
	account, key := short.text(0), r.session(session)
	for try := 1; ; try++ {
		got, err := r.borrow(ctx, account, key, short.text(1), short.text(2), r.limits.PrincipalBytes, short.text(3), "0", short.text(4))
		if err != nil {
			return err
		}
		if got.number(0) >= short.number(4) {
			args[lentAt], args[utmostAt] = got.text(0), "0"
			return nil
		}
		freed, err := r.giveBackEnded(ctx, account, got.texts(2))
		if err != nil {
			return err
		}
		if try < 2 && freed {
			continue
		}
		if got.number(0) < 0 && short.number(2) > 0 {
			return fmt.Errorf("session %s: %w", mcp.SessionPrint(session), &state.PrincipalRoomError{
				Used: int(got.number(1)), More: int(short.number(2)), Max: r.limits.PrincipalBytes,
			})
		}
		args[lentAt], args[utmostAt] = max(got.number(0), 0), "1"
		return nil
	}
}

// borrow runs borrow.lua.
func (r *Replica) borrow(ctx context.Context, account string, args ...any) (reply, error) {
	v, err := r.eval(ctx, borrowScript, []string{account}, args...)
	list, _ := v.([]any)
	return reply{rest: list}, err
}

// giveBackEnded returns the loans of the sessions, given by key, that do not exist any more to an
// account. freed is false if there are none.
func (r *Replica) giveBackEnded(ctx context.Context, account string, keys []string) (freed bool, err error) {
	there, err := r.exist(ctx, keys)
	for i, exists := range there {
		if exists {
			continue
		}
		if _, err := r.borrow(ctx, account, keys[i], 0, 0, 0, 0, "0"); err != nil {
			return false, err
		}
		freed = true
	}
	return freed, err
}

// settle sets the bytes that an account lends a session, and the duration in ms. The next
// settlement corrects a failed one.
func (r *Replica) settle(ctx context.Context, session, account, bytes, life string) {
	if _, err := r.borrow(ctx, account, r.session(session), bytes, bytes, 0, life, "1"); err != nil {
		r.log.Warn("the size of a session could not be charged to its caller", "error", err)
	}
}
