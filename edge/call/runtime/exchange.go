package runtime

import (
	"context"
	"time"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// Outgoing is the answer to a POST. Exactly one of its methods is called, once.
type Outgoing interface {
	// Respond ends the exchange with one body. replies has the calls' replies by number. A reply
	// without a response, because its client cancelled the call, is omitted from the body.
	Respond(replies []*call.Reply)
	// Accept ends the exchange without a body.
	Accept()
	// Open turns the exchange into an event stream and follows the log until it ends or the client
	// disconnects.
	Open(ctx context.Context, stream string)
}

// Ready sets the entries that exist before any call runs. If the exchange becomes a stream, its log
// begins with them.
func (g *Group) Ready(entries []state.Entry) { g.machines.Ready(entries) }

// Serve runs the calls of an exchange and answers it with one body or a stream. It returns when the
// exchange has ended, or when ctx is done, which means that the client has disconnected. The calls
// may continue. The caller has entered Options.Work. Call it once.
func (g *Group) Serve(ctx context.Context, out Outgoing) {
	r := g.r
	if d := g.calls[0].rec.Deadline; !d.IsZero() && d.Sub(r.o.Now()) < r.o.StreamAfter {
		for _, c := range g.calls {
			c.startLifetime() // Otherwise the timer starts when the call is registered.
		}
	}
	g.postAll(call.Event{Kind: call.Started})
	t := r.timer(r.o.StreamAfter)
	defer r.putTimer(t)
	closing, left := r.Closing(), ctx.Done()
	for {
		select {
		case what := <-g.out:
			switch what {
			case call.Respond:
				out.Respond(g.replies)
			case call.Open:
				out.Open(ctx, g.stream)
			case call.Accept:
				out.Accept()
			}
			return
		case <-t.C:
			g.postExchange(call.ExchangeEvent{Kind: call.OpenDue})
		case <-closing:
			closing = nil
			g.postAll(call.Event{Kind: call.Closed})
		case <-left:
			left = nil
			g.postExchange(call.ExchangeEvent{Kind: call.ClientLeft})
		}
	}
}

// begin begins the records of the calls. If the only call has decided, the same write concludes it.
func (g *Group) begin() {
	r, recs := g.r, g.machines.Records()
	if g.stream == "" { // A repeated Begin is the same.
		g.stream = r.o.Name()
		for i, c := range g.calls {
			rec := *recs[i]
			rec.Stream, rec.Phase, rec.Epoch = g.stream, state.PhaseDispatched, medium.Epoch(0).Next(r.o.Random())
			if len(recs) > 1 {
				rec.Batch = len(recs)
			}
			c.runner.Deliver(Event{Begins: &rec})
			recs[i] = &rec
		}
	}
	w := &medium.Write{Session: recs[0].Session, Stream: g.stream, Begin: recs}
	if last := g.machines.Conclusion(recs[0]); last != nil {
		w, g.concluded = last, true
		w.Begin = recs
	}
	g.register()
	r.work.Spawn(func() {
		returns := r.returns.Load()
		if err := r.commit(g.first.runner, w); err != nil {
			g.postExchange(call.ExchangeEvent{Kind: call.BeginFailed, Fault: call.FaultOf(err), Err: err})
			return
		}
		r.count.CallsOpened.Add(int64(len(recs)))
		g.postExchange(call.ExchangeEvent{Kind: call.HasBegun})
		g.catchUp(returns)
	})
}

// catchUp passes calls whose records have just begun the events that they may have missed: a return
// of the store since returns was read, and the closing of this replica.
func (g *Group) catchUp(returns uint64) {
	if g.r.returns.Load() != returns {
		for _, c := range g.calls {
			g.r.restoreCall(c.rec.ID)
		}
	}
	if g.r.IsClosing() {
		g.postAll(call.Event{Kind: call.Closed})
	}
}

// cleanUp ends the records that a Begin may have stored although it failed for this replica. A
// Begin that concludes its call stores none.
func (g *Group) cleanUp() {
	if g.concluded {
		return
	}
	// A record that these writes begin only ends: if this replica is lost before, no round of it may run.
	var recs []*medium.Record
	for _, r := range g.machines.Records() {
		own := *r
		own.Resumable, own.Repeatable = false, false
		recs = append(recs, &own)
	}
	for range cleanUpTries {
		returns := g.r.returns.Load()
		ctx, cancel := g.r.bounded()
		err := g.r.store.Commit(ctx, &medium.Write{Session: recs[0].Session, Stream: recs[0].Stream, Begin: recs})
		cancel()
		if err == nil {
			for i := range recs {
				rec := *recs[i]
				rec.Cancelled = true
				g.r.run(&Claimed{Runner: noRunner{}, Context: g.r.life}, call.Event{Kind: call.Claimed, Why: call.ByCancel, Record: &rec}, returns)
			}
			return
		}
		switch f := call.FaultOf(err); {
		case f == call.IDTaken: // The records began, and one has another owner since.
			for _, rec := range recs {
				g.r.takeOver(medium.ClaimTarget{Session: rec.Session, Call: rec.ID, Epoch: rec.Epoch, Cancel: true}, call.ByCancel)
			}
			return
		case f != call.Unavailable, !g.r.sleep(time.Second):
			return // The records end with their lifetime.
		}
	}
}

// cleanUpTries bounds the attempts of cleanUp.
const cleanUpTries = 20
