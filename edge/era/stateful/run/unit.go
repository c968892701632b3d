package run

import (
	"context"
	"time"

	"github.com/mcpedge/mcpedge/edge/era/stateful/call"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// Task is what a call is to the era: it runs the rounds and hears what becomes of them. Its methods but Run do not block
// and do not call the Replica; but for Stored they come one at a time, not beside each other, though beside Run.
type Task interface {
	// Run calls the backend for a round: round has its number, answers and state, and is not to be changed. It emits the
	// backend's events and returns how the round ended; of a call whose ctx has ended, soon, and anything.
	Run(ctx context.Context, round *medium.Record, events Sink) *call.Reply
	// Complete gives a record that is about to be begun what it has beside session, stream, id, epoch and round.
	Complete(r *medium.Record)
	// Stored tells what the store said to a write of the call, beside the others.
	Stored(w *medium.Write, began time.Time, err error)
	// Free: the client may use the request's id again: its response is about to be written. It may come again.
	Free()
	// Over: the replica does not run the call any more. r is what it ended with; nil: with nothing.
	Over(how call.How, r *call.Reply)
}

// Sink takes the events of a backend.
type Sink interface {
	// Emit does not wait for the client; the entry is not changed any more.
	Emit(e *state.Entry)
	// Checkpoint says that the round may be run again from a state, which is not changed any more.
	Checkpoint(state []byte)
}

// toExchange is the number of the exchange among the addressees of a unit.
const toExchange = -1

// event is an event of a unit.
type event struct {
	to       int
	call     call.Event
	exchange call.ExchangeEvent
}

// Unit is an exchange with its calls, or a call that was claimed, and the inbox of them all. The zero Unit is for Init. Not to
// be copied.
type Unit struct {
	r     *Replica
	inbox inbox[event, call.Effect]
	m     call.Unit
	room  [6]call.Effect
	// out tells the goroutine of the exchange what is to be done with it: Respond, Accept or Open, once.
	out chan call.EffectKind
	// replies are what Respond is to tell, by the numbers of the calls.
	replies []*call.Reply
	// stream is the name of the exchange's stream. It belongs to do, and to the exchange after Open.
	stream string
	begun  bool
	// concluded: the record of the only call began with its last step.
	concluded bool
	calls     []*Call
	// first, only and reply are for calls and replies, of most units.
	first Call
	only  [1]*Call
	reply [1]*call.Reply
}

// Call is a call on the replica that runs it. Its members belong to do. Safe for concurrent use.
type Call struct {
	u      *Unit
	number int
	task   Task
	// base is what the contexts of its runs have their values from.
	base   context.Context
	stop   context.CancelFunc
	timers [call.TimerRead + 1]*time.Timer
	life   *time.Timer
	// waiting is how many of its events are counted as queued.
	waiting int
}

// Init makes it the unit of an exchange with so many calls, at least one, which Add adds.
func (r *Replica) Init(u *Unit, calls int) {
	u.r, u.out = r, make(chan call.EffectKind, 1)
	u.m.InitExchange(calls)
	u.inbox.effects = u.room[:0]
	u.calls, u.replies = u.only[:0], u.reply[:]
	if calls > 1 {
		u.calls, u.replies = make([]*Call, 0, calls), make([]*call.Reply, calls)
	}
}

// Add adds a call as the next, before Serve. rec has the names of session, call and request, and deadline, round and attempt;
// more is asked of the task (Complete) when the call gets a record. ctx is what the contexts of its runs have their values
// from; it does not end them.
func (u *Unit) Add(ctx context.Context, rec *medium.Record, t Task) *Call {
	c := &u.first
	if len(u.calls) > 0 {
		c = new(Call)
	}
	c.u, c.number, c.task, c.base = u, len(u.calls), t, context.WithoutCancel(ctx)
	u.calls = append(u.calls, c)
	u.m.Add(u.r.o.Call, rec)
	return c
}

func (u *Unit) post(e event) { u.inbox.post(u, e) }

func (u *Unit) postExchange(e call.ExchangeEvent) { u.post(event{to: toExchange, exchange: e}) }

func (c *Call) post(e call.Event) { c.u.post(event{to: c.number, call: e}) }

// Emit implements Sink.
func (c *Call) Emit(e *state.Entry) { c.post(call.Event{Kind: call.Emitted, Entry: e}) }

// Checkpoint implements Sink.
func (c *Call) Checkpoint(state []byte) {
	c.post(call.Event{Kind: call.Checkpointed, State: state})
}

// Cancel cancels the call for its client: it ends without a response.
func (c *Call) Cancel() { c.post(call.Event{Kind: call.Cancelled}) }

// End ends the call because its session has ended.
func (c *Call) End() { c.post(call.Event{Kind: call.Ended}) }

// machine is the call's, whose ID, Names and Deadline never change.
func (c *Call) machine() *call.Call { return c.u.m.Call(c.number) }

// known is what the machine knows; held: it has the lease.
func (c *Call) known() (rec *medium.Record, held bool) {
	c.u.inbox.look(func() {
		m := c.machine()
		rec, held = m.Record(), m.Held()
	})
	return rec, held
}

// Kept is the record as the store acknowledged it last, or else as the call began.
func (c *Call) Kept() *medium.Record {
	rec, _ := c.known()
	return rec
}

// step implements machine.
func (u *Unit) step(e event, effects []call.Effect) []call.Effect {
	if e.to == toExchange {
		effects = u.m.StepExchange(e.exchange, effects)
	} else {
		effects = u.m.Step(e.to, e.call, effects)
	}
	for _, c := range u.calls {
		if n := c.machine().Waiting(); n != c.waiting {
			u.r.count.Queued.Add(int64(n - c.waiting))
			c.waiting = n
		}
	}
	return effects
}

// do implements machine.
func (u *Unit) do(f *call.Effect) {
	switch f.Kind {
	case call.Want, call.Tell: // The unit has handed them on.
	case call.Begin:
		u.begin()
	case call.Tidy:
		u.r.work.Spawn(u.tidy)
	case call.Open, call.Respond:
		u.out <- f.Kind
	case call.Accept:
		for _, c := range u.calls {
			u.r.register(c)
			c.live()
		}
		u.out <- f.Kind
		if u.r.isClosing() {
			u.postAll(call.Event{Kind: call.Closed})
		}
	case call.Outcome:
		u.replies[f.Call] = f.Reply
	default:
		u.calls[f.Call].do(f)
	}
}

// postAll gives all calls an event.
func (u *Unit) postAll(e call.Event) {
	for _, c := range u.calls {
		c.post(e)
	}
}

// start starts all calls: each before anything comes of the others, since what becomes of the exchange is told to those that were started.
func (u *Unit) start() {
	if len(u.calls) == 1 {
		u.calls[0].post(call.Event{Kind: call.Started})
		return
	}
	events := make([]event, len(u.calls))
	for i := range events {
		events[i] = event{to: i, call: call.Event{Kind: call.Started}}
	}
	u.inbox.postAll(u, events)
}

func (c *Call) do(f *call.Effect) {
	r := c.u.r
	switch f.Kind {
	case call.Run:
		c.run(f.Record)
	case call.Stop:
		c.stop()
	case call.Commit:
		c.live() // Of a call that was claimed, before its first step.
		w := f.Write
		if c.u.concluded {
			c.post(call.Event{Kind: call.Stored})
			return
		}
		for i := range w.Asks { // Nobody else knows them yet.
			if w.Asks[i].Asked.IsZero() {
				w.Asks[i].Asked = r.o.Now()
			}
		}
		r.work.Spawn(func() { c.commit(w) })
	case call.Restore:
		rec := f.Record
		r.mu.Lock()
		entries := r.keeper.With(rec, f.Entries)
		r.mu.Unlock()
		r.work.Spawn(func() { c.restore(rec, entries) })
	case call.Draw:
		c.post(call.Event{Kind: call.Drawn, Reply: r.o.Number(f.Reply)})
	case call.SetTimer:
		c.set(f.Timer, f.After)
	case call.Free:
		c.task.Free()
	case call.Keep:
		r.keep(f.Record, f.Entries)
	case call.CancelByRecord:
		session, id := c.machine().Names()
		r.work.Spawn(func() { r.cancel(medium.Which{Session: session, Call: id}) })
	case call.Dropped:
		r.count.dropped(f.Fault).Add(int64(f.Count))
	case call.OverHere:
		c.over(f.How, f.Reply)
	}
}

// run calls the backend in a goroutine.
func (c *Call) run(round *medium.Record) {
	if c.stop != nil {
		c.stop() // the round before
	}
	var ctx context.Context
	ctx, c.stop = context.WithCancel(c.base) // which over ends
	if round.Attempt > 1 && round.Phase == state.PhaseDispatched {
		c.u.r.count.Reruns.Add(1)
	}
	c.u.r.work.n.Add(1)
	go c.backend(ctx, round)
}

// backend runs a round. It counts as what goes on.
func (c *Call) backend(ctx context.Context, round *medium.Record) {
	defer c.u.r.work.Leave()
	growStack(0)
	reply := c.task.Run(ctx, round, c)
	c.post(call.Event{Kind: call.Returned, Reply: reply})
}

// set sets a timer of the call, or that of its exchange.
func (c *Call) set(t call.Timer, after time.Duration) {
	e := event{to: c.number, call: call.Event{Kind: call.Due, Timer: t}}
	if t == call.TimerOpen {
		after, e = c.u.r.o.StreamAfter, event{to: toExchange, exchange: call.ExchangeEvent{Kind: call.OpenDue}}
	}
	if old := c.timers[t]; old != nil {
		old.Stop()
	}
	c.timers[t] = time.AfterFunc(after, func() {
		if t == call.TimerPause && c.late() {
			c.post(call.Event{Kind: call.Expired}) // before another round
		}
		c.u.post(e)
	})
}

// late says whether the call's lifetime has passed.
func (c *Call) late() bool {
	deadline := c.machine().Deadline()
	return !deadline.IsZero() && !c.u.r.o.Now().Before(deadline)
}

// live sees to the end of the call's lifetime.
func (c *Call) live() {
	if c.life != nil {
		return
	}
	left := c.u.r.o.Lifetime
	if deadline := c.machine().Deadline(); !deadline.IsZero() {
		left = deadline.Sub(c.u.r.o.Now())
	}
	c.life = time.AfterFunc(left, func() { c.post(call.Event{Kind: call.Expired}) })
}

func (c *Call) over(how call.How, r *call.Reply) {
	if c.stop != nil {
		c.stop()
	}
	for _, t := range &c.timers {
		if t != nil {
			t.Stop()
		}
	}
	if c.life != nil {
		c.life.Stop()
	}
	c.u.r.unregister(c)
	if c.task != (nobody{}) {
		c.u.r.count.over(how, r)
	}
	c.task.Over(how, r)
}

// commit sends a step.
func (c *Call) commit(w *medium.Write) { c.answered(c.u.r.commit(c.task, w)) }

// commit sends a write of a task's.
func (r *Replica) commit(t Task, w *medium.Write) error {
	began := time.Now()
	ctx, cancel := r.bounded()
	err := r.store.Commit(ctx, w)
	cancel()
	if err == nil {
		r.count.Appended.Add(int64(len(w.Entries)))
	} else {
		r.failed(err)
	}
	t.Stored(w, began, err)
	return err
}

// restore gives back what is known of the call.
func (c *Call) restore(rec *medium.Record, entries []medium.Entry) {
	ctx, cancel := c.u.r.bounded()
	verdict, err := c.u.r.store.Restore(ctx, rec, entries, true)
	cancel()
	if err == nil && verdict == medium.Superseded {
		err = state.ErrFenced
	}
	if err != nil {
		c.u.r.failed(err)
	}
	c.answered(err)
}

func (c *Call) answered(err error) {
	if err != nil {
		c.post(call.Event{Kind: call.Failed, Fault: call.FaultOf(err), Err: err})
		return
	}
	c.post(call.Event{Kind: call.Stored})
}
