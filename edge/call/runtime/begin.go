package runtime

import (
	"context"
	"errors"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// Begin begins a call without an exchange. When it returns, the store has the call's record, ready
// to run, and its log with entries. rec is as for Group.Add, plus all fields that Event.Begins
// would set; it must not change any more. begin runs the call; call it once. If this replica is
// lost, another one runs the call. If Begin fails with state.ErrUnavailable or a context's error,
// it may have stored the record nevertheless; that record is not run, and the caller erases it. The
// caller has entered Options.Work.
func (r *Replica) Begin(ctx context.Context, rec *medium.Record, entries []state.Entry, c *Claimed) (begin func(), err error) {
	began := *rec
	began.Stream, began.Phase, began.Epoch = r.o.Name(), state.PhaseDispatched, medium.Epoch(0).Next(r.o.Random())
	w := &medium.Write{
		Session: rec.Session, Stream: began.Stream, Begin: []*medium.Record{&began},
		Call: rec.ID, Epoch: began.Epoch, N: 1, Seq: 1, Entries: entries, Next: medium.NextReady,
	}
	if r.o.Call.Brief != nil {
		w.Brief = r.o.Call.Brief(&began, w)
	}
	returns := r.returns.Load()
	for try := 1; ; try++ {
		if err = r.commit(c.Runner, w); err == nil {
			break
		}
		if call.FaultOf(err) != call.Unavailable || errors.Is(err, state.ErrUnacknowledged) || try == claimTries || ctx.Err() != nil || !r.sleep(claimPause) {
			return nil, err
		}
	}
	r.count.CallsOpened.Add(1)
	ready := began
	ready.Apply(w)
	return func() { r.run(c, call.Event{Kind: call.Claimed, Why: call.ByRequest, Record: &ready}, returns) }, nil
}
