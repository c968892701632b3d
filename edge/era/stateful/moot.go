package stateful

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

// withdrawn stands in the place of a client's answer that is not needed any more. It is not told to who asked.
const withdrawn = `{"withdrawn":true}`

// lookAtMoot is how often it is looked whether the client has answered, which ends the wait for the questions to be moot.
const lookAtMoot = 5 * time.Second

// watchMoot has a parked call go on without answers as soon as its questions need none (mcp.InputRequired). It watches here, for as
// long as this replica lives and the call may last: a call whose replica is lost waits for its client, or for its lifetime.
func (e *Era) watchMoot(c *execution) {
	if c.moot == nil || len(c.open) == 0 || !e.moots.Enter() {
		return
	}
	defer e.moots.Leave()
	moot, session, asks, who, until := c.moot, c.s.id, c.open, c.call.Principal, c.record.Deadline
	e.moots.Spawn(func() {
		ctx, cancel := context.WithDeadline(e.life, until)
		defer cancel()
		for ctx.Err() == nil {
			look, done := context.WithTimeout(ctx, lookAtMoot)
			over, tells := moot(look), look.Err() != nil
			done()
			switch {
			case over:
				e.withdraw(ctx, session, asks, who)
				return
			case !tells: // It cannot say any more.
				return
			case !e.stillAsks(ctx, session, asks):
				return
			}
		}
	})
}

// stillAsks says whether a question waits for its answer, as far as is known.
func (e *Era) stillAsks(ctx context.Context, session string, asks []string) bool {
	for _, ask := range asks {
		sctx, cancel := e.bounded(ctx)
		asking, err := e.store.Asking(sctx, session, ask)
		cancel()
		if err != nil || asking != nil {
			return true
		}
	}
	return false
}

// withdraw gives the questions the answer that is none. The call goes on here.
func (e *Era) withdraw(ctx context.Context, session string, asks []string, who mcp.Principal) {
	if !e.work.Enter() {
		return
	}
	defer e.work.Leave()
	for _, ask := range asks {
		if !e.stillAsks(ctx, session, []string{ask}) {
			continue
		}
		given := state.Answer{Result: []byte(withdrawn), Token: rand.Text(), By: who}
		_, release, err := e.calls.Answer(ctx, session, ask, given, who)
		switch {
		case err != nil:
			e.log.WarnContext(ctx, "a question that needs no answer any more could not be withdrawn", "error", err)
		case release != nil:
			release()
		}
	}
}
