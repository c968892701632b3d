package runtime

import (
	"context"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// toExchange addresses an event to the exchange of a group, toAll to all its calls.
const toExchange, toAll = -1, -2

// event is an event of a group.
type event struct {
	to       int
	call     call.Event
	exchange call.ExchangeEvent
}

// Group drives an exchange with its calls, or a claimed call, and their inbox. Call Init on the
// zero Group. It must not be copied.
type Group struct {
	r        *Replica
	inbox    inbox[event, call.Effect]
	machines call.Machines
	room     [6]call.Effect
	// out sends the goroutine of the exchange the kind of its response, once: Respond, Accept or
	// Open.
	out chan call.EffectKind
	// replies are the replies of the response, by the number of their call.
	replies []*call.Reply
	// stream is the name of the exchange's stream. do owns it until Open, and the exchange
	// afterwards.
	stream string
	// concluded is true if the record of the only call began with its last step.
	concluded bool
	calls     []*Driver
	// first, only and reply are the storage of groups with one call.
	first Driver
	only  [1]*Driver
	reply [1]*call.Reply
}

// Init initializes g for an exchange of calls calls, at least one. Add adds them.
func (r *Replica) Init(g *Group, calls int) {
	g.r, g.out = r, make(chan call.EffectKind, 1)
	g.machines.InitExchange(calls)
	g.inbox.effects = g.room[:0]
	g.calls, g.replies = g.only[:0], append(g.reply[:0], make([]*call.Reply, calls)...)
}

// Add adds the next call, before Serve. rec names session, call and request and has deadline, round
// and attempt; Event.Begins sets the rest when the call gets a record. ctx provides the values of
// the contexts of its runs; its end does not end them.
func (g *Group) Add(ctx context.Context, rec *medium.Record, t Runner) *Driver {
	c := &g.first
	if len(g.calls) > 0 {
		c = new(Driver)
	}
	c.g, c.number, c.rec, c.runner, c.base, c.stop = g, len(g.calls), rec, t, context.WithoutCancel(ctx), func() {}
	g.calls = append(g.calls, c)
	g.machines.Add(&c.machine, g.r.o.Call, rec)
	return c
}

func (g *Group) post(e event) { g.inbox.post(g, e) }

func (g *Group) postExchange(e call.ExchangeEvent) { g.post(event{to: toExchange, exchange: e}) }

// step implements machine.
func (g *Group) step(e event, effects []call.Effect) []call.Effect {
	switch e.to {
	case toExchange:
		effects = g.machines.StepExchange(e.exchange, effects)
	case toAll:
		for i := range g.calls {
			effects = g.machines.Step(i, e.call, effects)
		}
	default:
		effects = g.machines.Step(e.to, e.call, effects)
	}
	for _, c := range g.calls {
		if n := c.machine.Waiting(); n != c.waiting {
			g.r.count.Queued.Add(int64(n - c.waiting))
			c.waiting = n
		}
		if g.r.o.IdleBetweenRounds {
			c.settle()
		}
	}
	return effects
}

// do implements machine.
func (g *Group) do(f *call.Effect) {
	switch f.Kind {
	case call.Begin:
		g.begin()
	case call.CleanUp:
		if g.r.o.Begin == nil { // Otherwise the Runner erases them.
			g.r.work.Spawn(g.cleanUp)
		}
	case call.Open, call.Respond:
		g.out <- f.Kind
	case call.Accept:
		g.register()
		g.out <- f.Kind
		if g.r.IsClosing() {
			g.postAll(call.Event{Kind: call.Closed})
		}
	case call.Decide:
		g.replies[f.Call] = f.Reply
	default: // also Want and Forward, which the machines have passed on
		g.calls[f.Call].do(f)
	}
}

// postAll posts an event to all calls. They take it before its effects on any of them.
func (g *Group) postAll(e call.Event) { g.post(event{to: toAll, call: e}) }

// register registers the calls, which outlive their exchange from now on.
func (g *Group) register() {
	g.r.mu.Lock()
	defer g.r.mu.Unlock()
	for _, c := range g.calls {
		g.r.register(c)
		c.startLifetime()
	}
}
