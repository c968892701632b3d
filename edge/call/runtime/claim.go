package runtime

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

const (
	// claimTries bounds the attempts of a claim whose reply was lost; claimPause is the pause
	// between two.
	claimTries, claimPause = 4, 100 * time.Millisecond
	// sweepTimeouts bounds a sweep, as a multiple of state.Timeout. It takes many operations.
	sweepTimeouts = 4
	// lostAtOnce bounds the lost calls that wait for a takeover, as a multiple of
	// Options.Takeovers.
	lostAtOnce = 16
)

// Reason is the reason for a claim.
type Reason struct {
	// Why is ByAnswer, ByLoss or ByCancel.
	Why call.Why
	// Began is the start of the claim.
	Began time.Time
	// By is the principal whose answer the call continues with. nil if no answer claimed it.
	By *mcp.Principal
	// Token is the token of By, if tokens are kept.
	Token mcp.Token
}

// Caller returns the principal with whose rights a claimed call continues: that of the answer that
// claimed it, otherwise that of the last answer of its round, otherwise the original one.
func (why Reason) Caller(r *medium.Record) mcp.Principal {
	if why.By != nil {
		return *why.By
	}
	for _, q := range slices.Backward(r.Asked) {
		if q.Answer != nil {
			return q.Answer.By
		}
	}
	return r.Principal
}

// Claimed is a call that was claimed.
type Claimed struct {
	Runner Runner
	// Context provides the values of the contexts of its runs; its end does not end them.
	Context context.Context
	// Refusal is the call's response if the client refused a required answer. It may be nil.
	Refusal *call.Reply
}

// beat renews the replica's heartbeat and starts a sweep if none is in progress. It does not wait
// for the sweep, so that a slow store does not let the leases of this replica lapse.
func (r *Replica) beat() {
	if !r.sweeping.CompareAndSwap(false, true) {
		ctx, cancel := r.bounded()
		defer cancel()
		r.beatOnce(ctx, 0)
		return
	}
	r.loops.Go(func() { r.sweep(r.unclosed) })
}

// sweep renews the heartbeat and takes over calls without an owner, unless the replica is draining.
// It does not wait for the takeovers. The caller has set r.sweeping.
func (r *Replica) sweep(ctx context.Context) {
	defer r.sweeping.Store(false)
	ctx, cancel := context.WithTimeout(ctx, sweepTimeouts*state.Timeout)
	defer cancel()
	r.mu.Lock()
	now := r.now()
	r.keeper.Forget(now)
	r.forgetUnmatched(now)
	most := max(lostAtOnce*r.o.Takeovers-len(r.claiming), 0)
	r.mu.Unlock()
	if r.IsDraining() {
		most = 0
	}
	for _, o := range r.beatOnce(ctx, most) {
		r.takeOverLost(o)
	}
}

// beatOnce renews the heartbeat and returns at most most calls without an owner.
func (r *Replica) beatOnce(ctx context.Context, most int) []medium.ClaimTarget {
	orphans, err := r.store.Beat(ctx, most, false)
	switch {
	case err == nil:
		r.beats.Ended()
	case !errors.Is(ctx.Err(), context.Canceled):
		r.failed(err)
		if r.beats.Failed(err, r.o.Now()) {
			about := []any{"error", err}
			if r.o.Store != "" {
				about = append(about, "store", r.o.Store)
			}
			r.o.Log.Warn("no heartbeat could be sent, or lost calls could not be looked for; other replicas take over the calls of one whose heartbeats stay away", about...)
		}
	}
	return orphans
}

// takeOverLost takes over a lost call in a goroutine, unless the replica is draining. At most
// Options.Takeovers run at a time.
func (r *Replica) takeOverLost(o medium.ClaimTarget) {
	if r.IsDraining() || !r.work.Enter() {
		return
	}
	defer r.work.Leave()
	r.mu.Lock()
	_, known := r.claiming[o.Call]
	known = known || r.calls[o.Call] != nil // The reply that made this replica the owner has arrived since.
	if !known {
		r.claiming[o.Call] = struct{}{}
	}
	r.mu.Unlock()
	if known {
		return
	}
	r.work.Spawn(func() {
		defer func() {
			r.mu.Lock()
			delete(r.claiming, o.Call)
			r.mu.Unlock()
		}()
		select {
		case r.takeovers <- struct{}{}:
		case <-r.Draining():
			return
		}
		defer func() { <-r.takeovers }()
		r.takeOver(o, call.ByLoss)
	})
}

// takeOver claims a call and continues it. Losing the race to another owner is not an error.
func (r *Replica) takeOver(w medium.ClaimTarget, why call.Why) call.Fault {
	w.Random = r.o.Random()
	began := time.Now()
	for try := 1; ; try++ {
		returns := r.returns.Load()
		ctx, cancel := r.bounded()
		o, err := r.store.Claim(ctx, w)
		cancel()
		f := call.FaultOf(err)
		if f == call.NoFault {
			if why == call.ByLoss {
				r.count.Takeovers.Add(1)
				from := "took over a call from a lost replica"
				if !w.Lapsed {
					from = "took over a call that no replica runs"
				}
				r.o.Log.Info(from, append(r.o.About(o.Record), takeoverAttrs(o.Record, w.Lost)...)...)
			}
			if !r.resume(o, Reason{Why: why, Began: began}, returns) {
				f = call.Unavailable // until the store has again what it lacks
			}
			return f
		}
		if f == call.Unavailable {
			r.failed(err)
		}
		if f != call.Unavailable || try == claimTries || !r.sleep(claimPause) {
			return f
		}
	}
}

// takeoverAttrs returns the log attributes of a call that was taken over from a lost replica. lost is
// empty if that replica's name is unknown.
func takeoverAttrs(r *medium.Record, lost string) []any {
	var p mcp.Params
	_ = p.Parse(r.Method, r.Params, nil) // other params, such as a task's, have no target: Options.About has it
	about := []any{"method", r.Method, "round", r.Round}
	for _, one := range [][2]string{{"target", mcp.ClipText(p.Target)}, {"backend", r.Backend}, {"subject", r.Principal.Subject}, {"lost", lost}} {
		if one[1] != "" {
			about = append(about, one[0], one[1])
		}
	}
	return about
}

// resume continues a claimed call. returns is the value of r.returns before the claim. It returns false if the store
// lacks writes of the call that this replica has: they are restored, and supersede the claim.
func (r *Replica) resume(o *medium.Owned, why Reason, returns uint64) bool {
	r.mu.Lock()
	later := r.knowsLater(o.Record)
	r.mu.Unlock()
	if later {
		r.restoreCall(o.Record.ID)
		return false
	}
	c, err := r.o.Resume(o, why)
	if err != nil {
		r.o.Log.Warn("a claimed call could not be resumed here", append(r.o.About(o.Record), "error", err)...)
		return true
	}
	r.run(c, call.Event{Kind: call.Claimed, Why: why.Why, Record: o.Record, Reply: c.Refusal}, returns)
	return true
}

// run makes a machine for a call that this replica owns and starts it with an event.
func (r *Replica) run(claimed *Claimed, begin call.Event, returns uint64) {
	g := new(Group)
	r.Init(g, 1)
	g.machines.InitClaimed()
	g.stream = begin.Record.Stream
	c := g.Add(claimed.Context, begin.Record, claimed.Runner)
	begin.Late = c.late()
	g.inbox.hold(event{call: begin})
	var old *Driver
	r.mu.Lock()
	later := r.knowsLater(begin.Record)
	if !later {
		old = r.register(c)
	}
	r.mu.Unlock()
	if later { // Another claim was first.
		c.over(call.HowLost, nil)
		return
	}
	if old != nil {
		old.post(call.Event{Kind: call.Superseded, Why: begin.Why})
	}
	g.inbox.release(g)
	g.catchUp(returns)
}

// knowsLater reports whether this replica knows of a later owner of the call, of its end, or of
// steps of the same owner. A claim that is repeated after the store lost it has the same epoch. The caller
// holds r.mu.
func (r *Replica) knowsLater(rec *medium.Record) bool {
	later := func(o *medium.Record) bool { return o.Phase == state.PhaseDone || o.Epoch >= rec.Epoch }
	if c := r.calls[rec.ID]; c != nil {
		if known, held := c.known(); held && later(known) {
			return true
		}
	}
	k, ok := r.keeper.Get(rec.ID, r.now())
	return ok && later(k.Record)
}

// failed counts and logs an error of the store, which may be nil.
func (r *Replica) failed(err error) {
	f := call.FaultOf(err)
	r.count.refused(f)
	switch {
	case f == call.Rewound:
		r.o.Log.Warn("the store has lost writes, which are given back to it", "error", err)
	case f == call.Unavailable && r.life.Err() == nil:
		r.o.Log.Debug("a state operation failed and is tried again or given up", "error", err)
	}
}
