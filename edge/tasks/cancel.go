package tasks

import (
	"context"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/state"
)

// cancel serves tasks/cancel of both eras. When it returns, the task is cancelled or had ended
// before.
func (t *Tasks) cancel(ctx context.Context, rules *revision.Rules, c *mcp.Call) (mcp.Reply, error) {
	v, err := t.load(ctx, c.Memory, c.Params.Target, &c.Principal)
	if err != nil {
		return mcp.Reply{}, err
	}
	if err := t.permit(ctx, rules, c, v, useCancel); err != nil {
		return mcp.Reply{}, err
	}
	if !v.over() {
		if v, err = t.end(ctx, c.Memory, v.id, &c.Principal, &c.Principal); err != nil {
			return mcp.Reply{}, err
		}
		if rules.Stateless || v.status == Cancelled {
			return t.acknowledged(ctx, rules, c, v)
		}
	}
	if rules.Stateless { // a repeated cancellation, and one after the end, are not errors
		return t.acknowledged(ctx, rules, c, v)
	}
	return mcp.Reply{}, mcp.Errorf(mcp.KindInvalidParams, "the task cannot be cancelled: it is %s", v.status)
}

// end cancels a principal's task on behalf of by, which the task's outcome records, and waits until
// it has ended.
func (t *Tasks) end(ctx context.Context, memory *budget.Reservation, id string, who, by *mcp.Principal) (*view, error) {
	t.cancellers.note(id, by)
	t.expiries.stop(id)
	if !t.calls.CancelHere(id) {
		t.calls.Cancel(id, requestID, by)
	}
	return t.awaitEnd(ctx, memory, id, who)
}

func (t *Tasks) acknowledged(ctx context.Context, rules *revision.Rules, c *mcp.Call, v *view) (mcp.Reply, error) {
	if rules.Stateless {
		return t.complete(rules, c, "complete", nil), nil
	}
	seen, err := t.visible(ctx, rules, c, v, useQuiet)
	if seen == nil {
		return mcp.Reply{}, err
	}
	return t.stateReply(ctx, rules, c, seen)
}

// awaitEnd waits until a cancelled task has ended, at most for the timeout of one operation on the
// store.
func (t *Tasks) awaitEnd(ctx context.Context, memory *budget.Reservation, id string, who *mcp.Principal) (*view, error) {
	wctx, cancel := state.Bounded(ctx)
	defer cancel()
	v, err := t.await(wctx, memory, id, who, func(v *view) bool { return v.over() })
	if wctx.Err() != nil && err != nil {
		return nil, unavailable(err)
	}
	return v, err
}

// onEvent cancels a task that runs here, if another replica received the request to cancel it.
func (t *Tasks) onEvent(e state.SessionEvent) {
	if e.Kind != state.RequestCancelled || !t.work.Enter() {
		return
	}
	defer t.work.Leave()
	if e.By != nil {
		t.cancellers.note(e.Session, e.By)
	}
	t.expiries.stop(e.Session)
	t.calls.CancelHere(e.Session)
}

// maxCancellers bounds the tasks whose cancellers a replica remembers.
const maxCancellers = 4096

// cancellers caches the last canceller of each task by the task's id, from the request or another
// replica's event, until this replica has recorded the end of the task. Entries of tasks that end
// elsewhere, or never, are evicted beyond maxCancellers, the least recently used first. Safe for
// concurrent use.
type cancellers struct {
	last *lru.Cache[string, *mcp.Principal]
}

func newCancellers() cancellers {
	last, _ := lru.New[string, *mcp.Principal](maxCancellers) // the only error is that of a size of 0
	return cancellers{last}
}

// note stores the identity of a task's canceller.
func (c cancellers) note(task string, by *mcp.Principal) {
	who := by.Identity()
	c.last.Add(task, &who)
}

// of returns a task's canceller; nil if it is unknown.
func (c cancellers) of(task string) *mcp.Principal {
	by, _ := c.last.Get(task)
	return by
}

// forget removes the canceller of a task whose end was recorded.
func (c cancellers) forget(task string) { c.last.Remove(task) }
