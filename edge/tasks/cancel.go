package tasks

import (
	"context"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/state"
)

// cancel serves tasks/cancel of both eras. When it returns, the task is cancelled or had ended
// before.
func (t *Tasks) cancel(ctx context.Context, rules *revision.Rules, c *mcp.Call, v *view) (mcp.Reply, error) {
	ended := v.over()
	if !ended {
		var err error
		if v, err = t.end(ctx, c.Memory, v.ID, &c.Principal, &c.Principal); err != nil {
			return mcp.Reply{}, err
		}
	}
	switch {
	case rules.Stateless: // a repeated cancellation, and one after the end, are not errors
		return t.complete(rules, c, "complete", nil), nil
	case ended || v.status != Cancelled:
		return mcp.Reply{}, mcp.Errorf(mcp.KindInvalidParams, "the task cannot be cancelled: it is %s", v.status)
	}
	seen, err := t.visible(ctx, rules, c, v, useQuiet)
	if seen == nil {
		return mcp.Reply{}, err
	}
	return t.stateReply(rules, c, seen), nil
}

// end cancels a principal's task on behalf of by, which the task's outcome records, and waits until
// it has ended, at most for the timeout of one operation on the store.
func (t *Tasks) end(ctx context.Context, memory *budget.Reservation, id string, who, by *mcp.Principal) (*view, error) {
	if !t.endHere(id, by) {
		t.calls.Cancel(id, requestID, by)
	}
	ctx, cancel := state.Bounded(ctx)
	defer cancel()
	v, err := t.await(ctx, memory, id, who, (*view).over)
	if err != nil && ctx.Err() != nil {
		return nil, unavailable(err)
	}
	return v, err
}

// endHere cancels a task if it runs here. by is the canceller, or nil if it is unknown.
func (t *Tasks) endHere(id string, by *mcp.Principal) bool {
	t.cancelledBy(id, by)
	t.expiries.stop(id)
	return t.calls.CancelHere(id)
}

// onEvent cancels a task that runs here, if another replica received the request to cancel it.
func (t *Tasks) onEvent(e state.SessionEvent) {
	if e.Kind == state.RequestCancelled && t.work.Enter() {
		defer t.work.Leave()
		t.endHere(e.Session, e.By)
	}
}

// maxCancellers bounds Tasks.cancellers. The least recently used ones are evicted.
const maxCancellers = 4096

// cancelledBy stores the identity of a task's canceller, from the request, the record or another
// replica's event; nil stores none.
func (t *Tasks) cancelledBy(id string, by *mcp.Principal) {
	if by != nil {
		who := by.Identity()
		t.cancellers.Add(id, &who)
	}
}
