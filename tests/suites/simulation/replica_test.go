package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/call/runtime"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/tasks"
)

// replica is one incarnation: a runtime.Replica, and what edge/era/stateful does around it. Its members belong to the world's
// goroutine unless they say otherwise.
type replica struct {
	w    *world
	id   int
	slot int
	// runtime runs the calls of sessions; nil in a history of tasks, which has tasks. engine is what there is.
	runtime *runtime.Replica
	tasks   *tasks.Tasks
	engine  interface {
		Start()
		Close()
	}
	wire *wire
	work *runtime.InFlight
	// returning tells the runtime that the store was away.
	returning func()
	// started is closed once the runtime has begun to beat, down when the replica dies. For any goroutine.
	started, down chan struct{}
	// drawn counts what was drawn. For any goroutine.
	drawn atomic.Uint32

	alive bool
	// draining: it ends once what runs here has ended, or its time is over. closed: it has begun to close in order.
	draining, closed bool
	paused           time.Duration // until then
	// runs counts the rounds of tasks that the backend runs for it.
	runs int
	// local are the calls whose requests are here.
	local map[string]*runtime.Driver
	// back is when it last heard that the store was away. wrote is the number of writes of the store with its last one; unheard says that
	// the store has lost that, and the replica has not heard of it.
	back    time.Duration
	wrote   int
	unheard bool
}

func (w *world) boot(slot int) {
	r := &replica{
		w: w, id: len(w.all) + 1, slot: slot, alive: true, work: new(runtime.InFlight),
		started: make(chan struct{}), down: make(chan struct{}), local: map[string]*runtime.Driver{},
	}
	w.all = append(w.all, r)
	if slot < len(w.replicas) {
		w.replicas[slot] = r
	} else {
		w.replicas = append(w.replicas, r)
	}
	if w.kind == ofTasks {
		r.bootTasks()
	} else {
		r.bootCalls()
	}
	go func() {
		defer close(r.started)
		r.engine.Start()
	}()
}

// bootCalls begins the runtime of calls of a replica.
func (r *replica) bootCalls() {
	w := r.w
	o := runtime.Options{
		Call: w.config, Resume: r.resume, Number: r.number, Event: r.notified, Work: r.work,
		Heartbeat: heartbeat, Log: slog.New(slog.DiscardHandler), Random: r.random, Name: func() string { return fmt.Sprintf("st%d-%d", r.id, r.random()) },
	}
	if w.bugs(untidy) {
		o.Begin = func(ctx context.Context, _ runtime.Runner, s *medium.Write) error { return r.wire.Commit(ctx, s) }
	}
	r.runtime = runtime.New(func(h medium.Hooks) medium.Store {
		r.returning, h.Returning = h.Returning, nil
		r.wire = newWire(r, h)
		return r.wire
	}, o)
	r.engine = r.runtime
	if w.deletes {
		r.revalidate()
	}
}

// random draws random bits. It is for goroutines of the replica.
func (r *replica) random() uint32 {
	return uint32(r.id)<<24 + r.drawn.Add(1)*2654435761>>8 // #nosec G115 -- a hash
}

// arrive adds an arrival unless the replica is dead. It is for goroutines of the replica.
func (r *replica) arrive(a arrival) {
	select {
	case <-r.down:
	default:
		a.replica = r.id
		do := a.do
		a.do = func() {
			if r.alive {
				do()
			}
		}
		r.w.arrive(a)
	}
}

// after does something later, if the incarnation still lives, and not while it is paused.
func (r *replica) after(d time.Duration, what uint64, do func()) {
	r.w.at(d, what<<8|uint64(r.id), func() { r.soon(what, do) }) // #nosec G115 -- small
}

func (r *replica) soon(what uint64, do func()) {
	switch {
	case !r.alive:
	case r.w.now < r.paused:
		r.after(r.paused-r.w.now, what, do)
	default:
		do()
	}
}

// spawn runs something that waits for the store.
func (r *replica) spawn(fn func()) { r.work.Spawn(fn) }

// die ends the incarnation at once: nothing that it still does reaches anybody.
func (r *replica) die() {
	if !r.alive {
		return
	}
	r.alive = false
	close(r.down)
	for _, x := range r.w.exchanges {
		if x.conn != nil && x.conn.r == r {
			x.conn.broken()
		}
	}
	for _, k := range r.w.tasks {
		k.lost(r)
	}
	r.w.closers.Go(r.close)
}

// close closes the runtime.
func (r *replica) close() {
	<-r.started
	r.engine.Close()
}

// stop ends the incarnation: at once, or in order.
func (r *replica) stop(inOrder bool) {
	if !inOrder {
		r.die()
		return
	}
	r.closed = true
	r.w.closers.Go(func() {
		r.close()
		r.arrive(arrival{what: replicaEnds, do: r.die})
	})
}

// drain has the incarnation finish what it runs, within a time, and ends it in order. If it does, that is no stop: nothing is lost, unless
// it ends before it hears that the store has lost its writes.
func (r *replica) drain(within time.Duration) {
	r.draining = true
	r.w.closers.Go(func() {
		<-r.started
		ctx, cancel := context.WithTimeout(context.Background(), within)
		defer cancel()
		err := r.drains(ctx)
		r.arrive(arrival{what: replicaEnds, do: func() {
			r.w.logf("r%d is drained: %v", r.id, err)
			if err != nil || r.unheard {
				r.w.stops++
			}
			r.stop(true)
		}})
	})
}

// drains waits for what runs here.
func (r *replica) drains(ctx context.Context) error {
	switch {
	case r.w.bugs(drainsNothing):
		return nil
	case r.w.bugs(drainLeavesEnds):
		return r.runsEnd(ctx)
	case r.tasks != nil:
		return r.tasks.Drain(ctx)
	}
	return r.runtime.DrainStreams(ctx, func() {})
}

// runner runs the rounds of a call.
type runner struct {
	r *replica
	c *request
	// local is the call whose request is here; nil in a call that was claimed.
	local *runtime.Driver
}

// Run implements runtime.Runner.
func (x *runner) Run(ctx context.Context, round *medium.Record, events *runtime.Driver) *call.Reply {
	b := &backendRun{r: x.r, c: x.c, progresses: func(v float64, text []byte) {
		events.Emit(&state.Entry{Kind: state.EntryProgress, Progress: v, Data: text})
	}, checkpoints: events.Checkpoint}
	end, ok := b.run(ctx, uint64(round.Epoch), runOf(round))
	if !ok {
		return &call.Reply{Kind: call.Final}
	}
	reply := &call.Reply{Kind: end.kind, State: end.state, Response: end.result, Pause: end.pause, Resumable: end.repeatable}
	for _, id := range end.asks {
		reply.Asks = append(reply.Asks, state.Ask{ID: id, Message: []byte(id)})
	}
	return reply
}

// Deliver implements runtime.Runner.
func (x *runner) Deliver(e runtime.Event) {
	if e.Begins != nil {
		e.Begins.Repeatable = x.c.safe
	}
}

// Done implements runtime.Runner.
func (x *runner) Done(call.How, *call.Reply) {
	if x.local != nil {
		x.r.arrive(arrival{what: callEnds, name: x.c.id, do: func() { delete(x.r.local, x.c.id) }})
	}
}

// resume makes the runner of a call that was claimed.
func (r *replica) resume(o *medium.Owned, _ runtime.Reason) (*runtime.Claimed, error) {
	return &runtime.Claimed{Runner: &runner{r: r, c: r.w.requestOf(o.Record.ID)}, Context: context.Background()}, nil
}

// number gives questions other ids.
func (r *replica) number(asks *call.Reply) *call.Reply {
	next := *asks
	next.Asks = nil
	for _, a := range asks.Asks {
		id := fmt.Sprintf("%s'%d", a.ID, r.random()%97)
		next.Asks = append(next.Asks, state.Ask{ID: id, Message: []byte(id)})
	}
	return &next
}

// post serves an exchange.
func (r *replica) post(x *exchange, k *conn) {
	g := new(runtime.Group)
	r.runtime.Init(g, len(x.calls))
	for _, c := range x.calls {
		rec := &medium.Record{Session: x.session}
		rec.ID, rec.Round, rec.Attempt, rec.Deadline = c.id, 1, 1, time.Now().Add(lifetime)
		rec.RequestID = c.requestID()
		n := &runner{r: r, c: c}
		n.local = g.Add(context.Background(), rec, n)
		r.local[c.id] = n.local
	}
	r.serve(k, func(ctx context.Context) { g.Serve(ctx, k) })
}

// serve runs what serves a connection, until it ends or the client leaves.
func (r *replica) serve(k *conn, fn func(context.Context)) {
	if k.gone.Load() {
		return
	}
	ctx, leave := context.WithCancel(context.Background())
	k.leave = leave
	r.spawn(func() {
		defer leave()
		fn(ctx)
		unknown := k.unknown
		k.get(func() { k.ended(unknown) })
	})
}

// cancel takes a cancellation of the client.
func (r *replica) cancel(c *request) {
	if d := r.local[c.id]; d != nil {
		// It may be over before the cancellation reaches it.
		r.after(r.w.delay(), callEnds, d.Cancel)
		return
	}
	if !r.runtime.CancelHere(c.id) {
		r.spawn(func() { r.runtime.Cancel(c.x.session, c.requestID(), nil) })
	}
}

// notified takes an event of another replica, late, or never.
func (r *replica) notified(e state.SessionEvent) {
	r.hears(func() {
		if e.Kind == state.SessionDeleted {
			r.drop(e.Session)
		}
		var id string
		if json.Unmarshal([]byte(e.RequestID), &id) != nil {
			return
		}
		if d := r.local[id]; d != nil {
			d.Cancel()
		}
	})
}

// answer takes a client's answer; done is told whether it is safe.
func (r *replica) answer(session, asked string, a state.Answer, done func(ok bool)) {
	r.spawn(func() {
		_, release, err := r.runtime.Answer(context.Background(), session, asked, a, mcp.Principal{})
		r.arrive(arrival{what: answerEnds, name: asked + " " + a.Token, do: func() { done(err == nil) }})
		if release != nil {
			release()
		}
	})
}

// storeWasAway tells the runtime that the store was away.
func (r *replica) storeWasAway() {
	if r.back = r.w.now; r.w.bugs(noNotice) {
		return
	}
	r.unheard = false
	go r.returning()
}
