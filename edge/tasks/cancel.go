package tasks

import (
	"context"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/state"
)

// cancel serves tasks/cancel, of both eras: when it returns, the task is cancelled, or has ended otherwise before.
func (t *Tasks) cancel(ctx context.Context, rules *revision.Rules, c *mcp.Call) (mcp.Reply, error) {
	v, err := t.load(ctx, c.Params.Target, &c.Principal)
	if err != nil {
		return mcp.Reply{}, err
	}
	if err := t.permit(ctx, rules, c, v, useCancel); err != nil {
		return mcp.Reply{}, err
	}
	if !v.over() {
		if v, err = t.end(ctx, v.id, &c.Principal, &c.Principal); err != nil {
			return mcp.Reply{}, err
		}
		if rules.Stateless || v.status == Cancelled {
			return t.acknowledged(ctx, rules, c, v)
		}
	}
	if rules.Stateless { // Cancelling again, or too late, is no error.
		return t.acknowledged(ctx, rules, c, v)
	}
	return mcp.Reply{}, mcp.Errorf(mcp.KindInvalidParams, "the task cannot be cancelled: it is %s", v.status)
}

// end cancels a task of a principal's for by, who is recorded, and waits until it has ended.
func (t *Tasks) end(ctx context.Context, id string, who, by *mcp.Principal) (*view, error) {
	t.cancelling.Store(id, by)
	defer t.cancelling.CompareAndDelete(id, by)
	if here := t.calls.Call(id); here != nil {
		here.Cancel()
	} else {
		t.calls.Cancel(id, requestID)
	}
	return t.awaitEnd(ctx, id, who)
}

func (t *Tasks) acknowledged(ctx context.Context, rules *revision.Rules, c *mcp.Call, v *view) (mcp.Reply, error) {
	if rules.Stateless {
		return t.complete(ctx, rules, c, "complete", nil), nil
	}
	seen, err := t.visible(ctx, rules, c, v, useQuiet)
	if seen == nil {
		return mcp.Reply{}, err
	}
	return t.shown(ctx, rules, c, seen)
}

// awaitEnd waits until a task has ended that was cancelled, for as long as an operation on the store may take.
func (t *Tasks) awaitEnd(ctx context.Context, id string, who *mcp.Principal) (*view, error) {
	wctx, cancel := bounded(ctx)
	defer cancel()
	v, err := t.await(wctx, id, who, func(v *view) bool { return v.over() })
	if wctx.Err() != nil && err != nil {
		return nil, unavailable(err)
	}
	return v, err
}

// onEvent hears what another replica tells.
func (t *Tasks) onEvent(e state.SessionEvent) {
	if e.Kind != state.RequestCancelled || !t.work.Enter() {
		return
	}
	defer t.work.Leave()
	if c := t.calls.Call(e.Session); c != nil {
		c.Cancel()
	}
}

// tellCancelled tells the replica that runs a task that it was cancelled.
func (t *Tasks) tellCancelled(id, request string) {
	ctx, cancel := bounded(context.Background())
	defer cancel()
	_ = t.store.Notify(ctx, state.SessionEvent{Kind: state.RequestCancelled, Session: id, RequestID: request})
}
