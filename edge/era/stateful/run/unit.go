package run

import (
	"context"
	"time"

	"github.com/mcpedge/mcpedge/edge/era/stateful/call"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// Task is a call as the era sees it: it runs the rounds and is notified of the call's progress. All
// methods but Run must not block and must not call the Replica. All but Stored are called one at a
// time, though concurrently with Run.
type Task interface {
	// Run calls the backend for a round. round has its number, answers and state and must not be
	// changed. Run emits the backend's events and returns how the round ended. After ctx is done it
	// returns soon, with any reply.
	Run(ctx context.Context, round *medium.Record, events Sink) *call.Reply
	// Complete sets all fields of a new record but session, stream, id, epoch and round.
	Complete(r *medium.Record)
	// Stored reports the result of a write of the call, concurrently with the other methods.
	Stored(w *medium.Write, began time.Time, err error)
	// Free reports that the client may reuse the request's id: its response is about to be written.
	// It may be called again.
	Free()
	// Over reports that this replica does not run the call any more. r is the reply that it ended
	// with, or nil.
	Over(how call.How, r *call.Reply)
}

// Sink takes the events of a backend.
type Sink interface {
	// Emit does not wait for the client. The entry must not change any more.
	Emit(e *state.Entry)
	// Checkpoint says that the round may be run again from a state, which must not change any more.
	Checkpoint(state []byte)
}

// toExchange addresses an event to the exchange of a unit.
const toExchange = -1

// event is an event of a unit.
type event struct {
	to       int
	call     call.Event
	exchange call.ExchangeEvent
}

// Unit is an exchange with its calls, or a claimed call, and their inbox. Call Init on the zero
// Unit. It must not be copied.
type Unit struct {
	r     *Replica
	inbox inbox[event, call.Effect]
	m     call.Unit
	room  [6]call.Effect
	// out sends the goroutine of the exchange how to answer: Respond, Accept or Open, once.
	out chan call.EffectKind
	// replies are the replies to respond with, by the number of their call.
	replies []*call.Reply
	// stream is the name of the exchange's stream. do owns it; after Open the exchange does.
	stream string
	begun  bool
	// concluded is whether the record of the only call began with its last step.
	concluded bool
	calls     []*Call
	// first, only and reply back the calls and replies of units with one call.
	first Call
	only  [1]*Call
	reply [1]*call.Reply
}

// Call is a call on the replica that runs it. Its members belong to do. It is safe for concurrent
// use.
type Call struct {
	u      *Unit
	number int
	task   Task
	// base provides the values of the contexts of its runs.
	base   context.Context
	stop   context.CancelFunc
	timers [call.TimerRead + 1]*time.Timer
	life   *time.Timer
	// waiting is the number of its events that are counted as queued.
	waiting int
}

// Init initializes u for an exchange of calls calls, at least one. Add adds them.
func (r *Replica) Init(u *Unit, calls int) {
	u.r, u.out = r, make(chan call.EffectKind, 1)
	u.m.InitExchange(calls)
	u.inbox.effects = u.room[:0]
	u.calls, u.replies = u.only[:0], u.reply[:]
	if calls > 1 {
		u.calls, u.replies = make([]*Call, 0, calls), make([]*call.Reply, calls)
	}
}

// Add adds the next call, before Serve. rec names session, call and request and has deadline, round
// and attempt; Task.Complete sets the rest when the call gets a record. ctx provides the values of
// the contexts of its runs; its end does not end them.
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

// Cancel cancels the call for its client. It ends without a response.
func (c *Call) Cancel() { c.post(call.Event{Kind: call.Cancelled}) }

// End ends the call because its session has ended.
func (c *Call) End() { c.post(call.Event{Kind: call.Ended}) }

// machine returns the call's machine, whose ID, Names and Deadline never change.
func (c *Call) machine() *call.Call { return c.u.m.Call(c.number) }

// known returns the machine's record. held is whether it has the lease.
func (c *Call) known() (rec *medium.Record, held bool) {
	c.u.inbox.look(func() {
		m := c.machine()
		rec, held = m.Record(), m.Held()
	})
	return rec, held
}

// Kept returns the record that the store acknowledged last, or the record that the call began with.
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
	case call.Want, call.Tell: // The unit has passed them on.
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

// postAll posts an event to all calls.
func (u *Unit) postAll(e call.Event) {
	for _, c := range u.calls {
		c.post(e)
	}
}

// start starts all calls before it handles the effects of any: what happens to the exchange is only
// sent to started calls.
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
		c.live() // A claimed call sets its timer before its first step.
		w := f.Write
		if c.u.concluded {
			c.post(call.Event{Kind: call.Stored})
			return
		}
		for i := range w.Asks { // These questions are new to the store.
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
	ctx, c.stop = context.WithCancel(c.base) // over cancels it
	if round.Attempt > 1 && round.Phase == state.PhaseDispatched {
		c.u.r.count.Reruns.Add(1)
	}
	c.u.r.work.n.Add(1)
	go c.backend(ctx, round)
}

// backend runs a round. It counts as running work.
func (c *Call) backend(ctx context.Context, round *medium.Record) {
	defer c.u.r.work.Leave()
	growStack(0)
	reply := c.task.Run(ctx, round, c)
	c.post(call.Event{Kind: call.Returned, Reply: reply})
}

// set sets a timer of the call, or of its exchange.
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

// late reports whether the call's lifetime has passed.
func (c *Call) late() bool {
	deadline := c.machine().Deadline()
	return !deadline.IsZero() && !c.u.r.o.Now().Before(deadline)
}

// live sets the timer that ends the call's lifetime.
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

// commit sends a write of a task.
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

// restore restores what is known of the call.
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
