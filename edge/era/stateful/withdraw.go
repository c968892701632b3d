package stateful

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

// answeredInterval is the interval at which a replica that awaits the withdrawal of questions
// checks whether the client has answered them.
const answeredInterval = 5 * time.Second

// watchWithdrawal continues a parked call without answers once its questions are withdrawn
// (mcp.InputRequired). Only this replica watches, until it stops or the call's deadline. A call
// whose replica is lost waits for its client or its deadline.
func (e *Era) watchWithdrawal(c *runner) {
	if c.withdrawal == nil || len(c.open) == 0 || !e.withdrawals.Enter() {
		return
	}
	defer e.withdrawals.Leave()
	await, session, asks, who, until := c.withdrawal, c.s.id, c.open, c.First.Principal, c.record.Deadline
	e.withdrawals.Spawn(func() {
		ctx, cancel := context.WithDeadline(e.life, until)
		defer cancel()
		for ctx.Err() == nil {
			interval, done := context.WithTimeout(ctx, answeredInterval)
			withdrawn, waited := await(interval), interval.Err() != nil
			done()
			switch {
			case withdrawn:
				e.withdraw(ctx, session, asks, who)
				return
			case !waited: // No question is left to wait for.
				return
			case !e.stillAsks(ctx, session, asks):
				return
			}
		}
	})
}

// stillAsks reports whether one of the questions is open. It also returns true if the store does
// not answer.
func (e *Era) stillAsks(ctx context.Context, session string, asks []string) bool {
	for _, ask := range asks {
		sctx, cancel := state.Bounded(ctx)
		asking, err := e.store.Asking(sctx, session, ask)
		cancel()
		if err != nil || asking != nil {
			return true
		}
	}
	return false
}

// withdraw answers the questions as withdrawn. The call continues here.
func (e *Era) withdraw(ctx context.Context, session string, asks []string, who mcp.Principal) {
	if !e.work.Enter() {
		return
	}
	defer e.work.Leave()
	for _, ask := range asks {
		if !e.stillAsks(ctx, session, []string{ask}) {
			continue
		}
		given := state.Answer{Withdrawn: true, Token: rand.Text(), By: who}
		_, release, err := e.calls.Answer(ctx, session, ask, given, who)
		switch {
		case err != nil:
			e.log.WarnContext(ctx, "a question that no longer needs an answer could not be withdrawn", "error", err)
		case release != nil:
			release()
		}
	}
}
