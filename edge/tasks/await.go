package tasks

import (
	"context"
	"time"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// lookAgain is the pause before a read without a notification, since a notification may be lost with
// its replica.
const lookAgain = time.Second

// await reads a task until done returns true. It returns ctx's error if ctx ends first. It charges
// memory as load does.
func (t *Tasks) await(ctx context.Context, memory *budget.Reservation, id string, who *mcp.Principal, done func(*view) bool) (*view, error) {
	changed := make(chan struct{}, 1)
	defer t.store.Follow(id, stream, func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	})()
	for {
		v, err := t.load(ctx, memory, id, who)
		if err == nil {
			v, err = t.lapse(ctx, memory, v, who)
		}
		if err != nil && mcp.AsError(err).Kind != mcp.KindStateUnavailable {
			return nil, err
		}
		if err == nil && done(v) {
			return v, nil
		}
		select {
		case <-changed:
		case <-time.After(lookAgain):
		case <-ctx.Done():
		case <-t.calls.Closing():
		}
		// Of several events during a read, the one that ends the wait counts.
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case t.calls.IsClosing():
			return nil, mcp.ShuttingDown()
		}
	}
}
