package run

import (
	"context"
	"time"

	"github.com/mcpedge/mcpedge/edge/era/stateful/call"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// Outgoing is the answer to a POST. Exactly one of its methods is called, once.
type Outgoing interface {
	// Respond ends the exchange with one body. replies has the calls' replies by number; a reply
	// without a response (its client cancelled it) is left out of the body.
	Respond(replies []*call.Reply)
	// Accept ends the exchange without a body.
	Accept()
	// Open turns the exchange into an event stream and follows the log until it ends or the client
	// leaves.
	Open(ctx context.Context, stream string)
}

// Ready sets entries that were known before any call ran. If the exchange becomes a stream, its log
// begins with them.
func (u *Unit) Ready(entries []state.Entry) { u.m.Ready(entries) }

// Serve runs the calls of an exchange and answers it with one body or a stream. It returns when the
// exchange has ended or ctx, which stands for the client, is done; the calls may run on. The caller
// has entered Options.Work. Call it once.
func (u *Unit) Serve(ctx context.Context, out Outgoing) {
	r := u.r
	if d := u.m.Call(0).Deadline(); !d.IsZero() && d.Sub(r.o.Now()) < r.o.StreamAfter {
		for _, c := range u.calls {
			c.live() // Otherwise the timer starts with the record.
		}
	}
	u.start()
	t := r.timer(r.o.StreamAfter)
	defer r.putTimer(t)
	closing := r.closing
	for {
		select {
		case what := <-u.out:
			u.end(ctx, what, out)
			return
		case <-t.C:
			u.postExchange(call.ExchangeEvent{Kind: call.OpenDue})
		case <-closing:
			closing = nil
			u.postAll(call.Event{Kind: call.Closed})
		case <-ctx.Done():
			u.postExchange(call.ExchangeEvent{Kind: call.ClientLeft})
			select {
			case what := <-u.out:
				u.end(ctx, what, out)
			default: // The calls run on without this client.
				out.Accept()
			}
			return
		}
	}
}

// end answers the exchange.
func (u *Unit) end(ctx context.Context, what call.EffectKind, out Outgoing) {
	switch what {
	case call.Respond:
		out.Respond(u.replies)
	case call.Open:
		out.Open(ctx, u.stream)
		u.postExchange(call.ExchangeEvent{Kind: call.StreamEnded})
	default:
		out.Accept()
	}
}

// begin begins the records of the calls. If the only call has decided, the same write concludes it.
func (u *Unit) begin() {
	r, recs := u.r, u.m.Records()
	if !u.begun { // A repeated Begin is the same.
		u.begun, u.stream = true, r.o.Name()
		for i, c := range u.calls {
			rec := *recs[i]
			rec.Stream, rec.Phase, rec.Epoch = u.stream, state.PhaseDispatched, medium.Epoch(0).Next(r.o.Random())
			if len(recs) > 1 {
				rec.Batch = len(recs)
			}
			c.task.Complete(&rec)
			recs[i] = &rec
			c.live()
		}
	}
	w := &medium.Write{Session: recs[0].Session, Stream: u.stream, Begin: recs}
	if last := u.m.Conclusion(recs[0]); last != nil {
		w, u.concluded = last, true
		w.Begin = recs
	}
	for _, c := range u.calls {
		r.register(c)
	}
	r.work.Spawn(func() {
		returns := r.returns.Load()
		if err := r.commit(u.first.task, w); err != nil {
			u.postExchange(call.ExchangeEvent{Kind: call.BeginFailed, Fault: call.FaultOf(err), Err: err})
			return
		}
		r.count.CallsOpened.Add(int64(len(recs)))
		u.postExchange(call.ExchangeEvent{Kind: call.HasBegun})
		u.catchUp(returns)
	})
}

// catchUp passes calls whose records have just begun the events that they may have missed: a return
// of the store since returns was read, and the closing of this replica.
func (u *Unit) catchUp(returns uint64) {
	if u.r.returns.Load() != returns {
		for _, c := range u.calls {
			u.r.restoreCall(c.machine().ID())
		}
	}
	if u.r.isClosing() {
		u.postAll(call.Event{Kind: call.Closed})
	}
}

// tidy ends records that a Begin of unknown outcome may have left. A Begin that concludes its call
// leaves none.
func (u *Unit) tidy() {
	recs := u.m.Records()
	if u.concluded {
		return
	}
	for range tidyTries {
		returns := u.r.returns.Load()
		ctx, cancel := u.r.bounded()
		err := u.r.store.Commit(ctx, &medium.Write{Session: recs[0].Session, Stream: recs[0].Stream, Begin: recs})
		cancel()
		if err == nil {
			for i := range recs {
				rec := *recs[i]
				rec.Cancelled = true
				u.r.run(&Claimed{Task: nobody{}, Context: u.r.life}, call.Event{Kind: call.Claimed, Why: call.ByCancel, Record: &rec}, returns)
			}
			return
		}
		if call.FaultOf(err) != call.Unavailable || !u.r.sleep(time.Second) {
			return // The records end with their lifetime.
		}
	}
}

// tidyTries bounds how often tidy looks for such records.
const tidyTries = 20

// nobody is the task of a call that does not run.
type nobody struct{}

func (nobody) Run(context.Context, *medium.Record, Sink) *call.Reply {
	return &call.Reply{Kind: call.Final}
}
func (nobody) Complete(*medium.Record)                {}
func (nobody) Stored(*medium.Write, time.Time, error) {}
func (nobody) Free()                                  {}
func (nobody) Over(call.How, *call.Reply)             {}
