package runtime

import (
	"context"
	"time"
)

// streamCloseMargin is the time before the end of the grace period at which the streams of running calls are
// closed.
const streamCloseMargin = time.Second

// DrainStreams drains a Replica whose calls have streams. The streams run to their end, since few
// clients resume one. Near the deadline of ctx, at a second or a quarter of the time before it, or
// when no work is busy, DrainStreams closes the remaining streams that can be resumed, after an
// event id and a retry hint, and calls closed. It returns when all work has left, or with the error
// of ctx. Lost calls are left to other replicas.
func (r *Replica) DrainStreams(ctx context.Context, closed func()) error {
	r.Drain()
	near, cancel := context.WithCancel(ctx)
	if end, ok := ctx.Deadline(); ok {
		left := time.Until(end)
		near, cancel = context.WithTimeout(ctx, left-min(streamCloseMargin, left/4))
	}
	_ = r.work.WaitBusy(near)
	cancel()
	r.CloseStreams()
	closed()
	return r.work.Wait(ctx)
}
