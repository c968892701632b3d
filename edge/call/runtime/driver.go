package runtime

import (
	"context"
	"time"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// Driver is a call on the replica that runs it: it drives the call's machine. Its members belong to
// do. It is safe for concurrent use.
type Driver struct {
	g       *Group
	number  int
	machine call.Call
	// rec is the record with which the call was made. It never changes.
	rec    *medium.Record
	runner Runner
	// base provides the values of the contexts of its runs.
	base   context.Context
	stop   context.CancelFunc
	timers [call.Timers]*time.Timer
	// registered is true once the call was in the tables of the Replica.
	registered bool
	// waiting is the number of its events that Counters.Queued counts.
	waiting int
	// unsettled is true while the call counts as work because its machine is unsettled.
	unsettled bool
}

func (c *Driver) post(e call.Event) { c.g.post(event{to: c.number, call: e}) }

// Emit writes an entry of the backend to the log, without waiting for the client. The entry must
// not change any more.
func (c *Driver) Emit(e *state.Entry) { c.post(call.Event{Kind: call.Emitted, Entry: e}) }

// Checkpoint permits another run of the round from a state, which must not change any more.
func (c *Driver) Checkpoint(state []byte) {
	c.post(call.Event{Kind: call.Checkpointed, State: state})
}

// Cancel cancels the call for its client. It ends without a response.
func (c *Driver) Cancel() { c.post(call.Event{Kind: call.Cancelled}) }

// End ends the call because its session has ended.
func (c *Driver) End() { c.post(call.Event{Kind: call.Ended}) }

// known returns the machine's record. held is true if the machine has the lease.
func (c *Driver) known() (rec *medium.Record, held bool) {
	c.g.inbox.inspect(func() {
		m := &c.machine
		rec, held = m.Record(), m.Held()
	})
	return rec, held
}

// Kept returns the last acknowledged record, or the initial record of the call.
func (c *Driver) Kept() *medium.Record {
	rec, _ := c.known()
	return rec
}

// settle makes the call count as work while its machine is unsettled. The caller holds the inbox.
func (c *Driver) settle() {
	switch now := c.machine.Unsettled(); {
	case now == c.unsettled:
	case now:
		c.unsettled = true
		c.g.r.work.n.Add(1)
	default:
		c.unsettled = false
		c.g.r.work.Leave()
	}
}

func (c *Driver) do(f *call.Effect) {
	r := c.g.r
	switch f.Kind {
	case call.Run:
		c.run(f.Record)
	case call.Stop:
		c.stop()
	case call.Commit:
		c.startLifetime() // A claimed call sets its timer before its first step.
		w := f.Write
		if c.g.concluded {
			c.post(call.Event{Kind: call.Stored})
			return
		}
		for i := range w.Asks { // These questions are new to the store.
			if w.Asks[i].Asked.IsZero() {
				w.Asks[i].Asked = r.o.Now()
			}
		}
		r.work.Spawn(func() { c.acknowledge(r.commit(c.runner, w)) })
	case call.Restore:
		rec := f.Record
		r.mu.Lock()
		entries := r.keeper.Merge(rec, f.Entries)
		r.mu.Unlock()
		r.work.Spawn(func() { c.restore(rec, entries) })
	case call.Draw:
		c.post(call.Event{Kind: call.Drawn, Reply: r.o.Number(f.Reply)})
	case call.SetTimer:
		c.setTimer(f.Timer, f.After)
	case call.Free:
		c.runner.Deliver(Event{Frees: true})
	case call.Keep:
		r.keep(f.Record, f.Entries)
	case call.CancelByRecord:
		r.work.Spawn(func() { r.cancel(medium.ClaimTarget{Session: c.rec.Session, Call: c.rec.ID}, nil) })
	case call.Dropped:
		r.count.dropped(f.Fault).Add(int64(f.Count))
	case call.EndRun:
		c.over(f.How, f.Reply)
	}
}

// run calls the backend in a goroutine.
func (c *Driver) run(round *medium.Record) {
	c.stop() // ends the previous round
	var ctx context.Context
	ctx, c.stop = context.WithCancel(c.base) // over cancels it
	if round.Attempt > 1 && round.Phase == state.PhaseDispatched {
		c.g.r.count.Reruns.Add(1)
	}
	c.g.r.work.n.Add(1)
	go c.backend(ctx, round)
}

// backend runs a round. It counts as running work.
func (c *Driver) backend(ctx context.Context, round *medium.Record) {
	defer c.g.r.work.Leave()
	growStack(0)
	reply := c.runner.Run(ctx, round, c)
	c.post(call.Event{Kind: call.Returned, Reply: reply})
}

// timerLife is the timer of the call's lifetime, which the machine does not set.
const timerLife call.Timer = 0

// setTimer sets a timer of the call, or of its exchange.
func (c *Driver) setTimer(t call.Timer, after time.Duration) {
	e := event{to: c.number, call: call.Event{Kind: call.Due, Timer: t}}
	switch t {
	case timerLife:
		e.call.Kind = call.Expired
	case call.TimerOpen:
		after, e = c.g.r.o.StreamAfter, event{to: toExchange, exchange: call.ExchangeEvent{Kind: call.OpenDue}}
	}
	if old := c.timers[t]; old != nil {
		old.Stop()
	}
	c.timers[t] = time.AfterFunc(after, func() {
		if t == call.TimerPause && c.late() {
			c.post(call.Event{Kind: call.Expired}) // before another round
		}
		c.g.post(e)
	})
}

// late reports whether the call's lifetime has passed.
func (c *Driver) late() bool {
	return !c.rec.Deadline.IsZero() && !c.g.r.o.Now().Before(c.rec.Deadline)
}

// startLifetime sets the timer that ends the call's lifetime.
func (c *Driver) startLifetime() {
	if c.timers[timerLife] != nil {
		return
	}
	left := c.g.r.o.Lifetime
	if !c.rec.Deadline.IsZero() {
		left = c.rec.Deadline.Sub(c.g.r.o.Now())
	}
	c.setTimer(timerLife, left)
}

func (c *Driver) over(how call.How, r *call.Reply) {
	c.stop()
	for _, t := range &c.timers {
		if t != nil {
			t.Stop()
		}
	}
	if c.registered { // A plain call takes no lock that others take.
		c.g.r.unregister(c)
	}
	if c.runner != (noRunner{}) {
		c.g.r.count.over(how, r)
	}
	c.runner.Done(how, r)
}

// commit sends a write of a call.
func (r *Replica) commit(t Runner, w *medium.Write) error {
	t.Deliver(Event{Stores: w})
	began := time.Now()
	ctx, cancel := r.bounded()
	var err error
	if len(w.Begin) > 0 && r.o.Begin != nil {
		err = r.o.Begin(ctx, t, w)
	} else {
		err = r.store.Commit(ctx, w)
	}
	cancel()
	if err == nil {
		r.count.Appended.Add(int64(len(w.Entries)))
	} else {
		r.failed(err)
	}
	t.Deliver(Event{Stored: &Stored{Write: w, Began: began, Err: err}})
	return err
}

// restore restores the knowledge about the call.
func (c *Driver) restore(rec *medium.Record, entries []medium.Entry) {
	ctx, cancel := c.g.r.bounded()
	verdict, err := c.g.r.store.Restore(ctx, rec, entries, true)
	cancel()
	if err == nil && verdict == medium.Superseded {
		err = state.ErrFenced
	}
	c.g.r.failed(err)
	c.acknowledge(err)
}

func (c *Driver) acknowledge(err error) {
	if err != nil {
		c.post(call.Event{Kind: call.Failed, Fault: call.FaultOf(err), Err: err})
		return
	}
	c.post(call.Event{Kind: call.Stored})
}
