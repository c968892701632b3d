package stateful

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// sweep takes over calls that nobody runs any more, a bounded number at a time.
func (e *Era) sweep(ctx context.Context) {
	sctx, cancel := e.bounded(ctx)
	defer cancel()
	orphans, err := e.store.Orphans(sctx, 16*e.o.MaxTakeovers, e.idle.runs(e))
	if err != nil {
		e.counters.StateErrors.Add(1)
		return
	}
	slots := make(chan struct{}, e.o.MaxTakeovers)
	var wg sync.WaitGroup
	for _, w := range orphans {
		slots <- struct{}{}
		if !e.work.enter() {
			break
		}
		wg.Go(func() {
			defer e.work.leave()
			defer func() { <-slots }()
			e.takeOver(w)
		})
	}
	wg.Wait()
}

// idle are the calls that are this replica's by their record though it does not run them, as the last
// sweep that saw them found. It belongs to the loop of sweeps.
type idle map[state.Which]time.Time

// forgetIdle is after how long one that no sweep saw again is forgotten.
const forgetIdle = time.Minute

// runs says which calls this replica runs. One that has just been claimed, or is just ending, does not
// seem to run either: it counts as running until a later sweep finds the same.
func (x idle) runs(e *Era) func(state.Which) bool {
	now := time.Now()
	maps.DeleteFunc(x, func(_ state.Which, since time.Time) bool { return now.Sub(since) > forgetIdle })
	return func(w state.Which) bool {
		if s := e.held.get(w.Session); s != nil && s.runsHere(w.Call) {
			delete(x, w)
			return true
		}
		since, seen := x[w]
		if !seen {
			x[w] = now
		}
		return !seen || now.Sub(since) < e.o.Heartbeat/2
	}
}

// takeOver claims one call and finishes it: by going on, by running it again, or by telling the client
// what is known. A claim that another replica won is no error.
func (e *Era) takeOver(w state.Which) {
	if s := e.held.get(w.Session); s != nil && s.runsHere(w.Call) {
		return // The reply that made the call this replica's came after all.
	}
	sctx, cancel := e.bounded(e.life)
	defer cancel()
	began := time.Now()
	w.Token = rand.Text()
	c, err := e.claim(sctx, w)
	if err != nil {
		if !lostCall(err) {
			e.counters.StateErrors.Add(1)
		}
		return
	}
	e.counters.Takeovers.Add(1)
	r, err := e.claimed(context.Background(), c, telemetry.ReasonTakenOver)
	if err != nil {
		e.log.Warn("a lost call could not be taken over here", "error", err, "call", c.Call.ID)
		return
	}
	e.o.Telemetry.Stored(r.origin, "claim", began, nil)
	late := !time.Now().Before(r.deadline)
	switch {
	case late || c.Phase == state.PhaseWaiting:
		defer r.done()
		r.finish(failure(r.rules, r.id, r.tooLate()))
	case c.Phase == state.PhaseReady:
		e.spawn(func() { r.resume(c) })
	case c.Call.Repeatable && c.Call.Lapses < e.o.MaxAttempts:
		e.counters.Reruns.Add(1)
		r.muted = c.HasProgress
		e.spawn(func() { r.resume(c) })
	case c.Call.Repeatable:
		e.log.Error("a call was lost with every replica that ran it, and is not run again: it may be what ends them",
			"call", c.Call.ID, "session", r.s.rec.Load().print, "method", string(r.call.Method), "target", r.call.Params.Target,
			"replicas", c.Call.Lapses, "attempts", e.o.MaxAttempts)
		e.counters.UnknownOutcomes.Add(1)
		defer r.done()
		r.finish(failure(r.rules, r.id, mcp.Errorf(mcp.KindUnknownOutcome,
			"%d servers were lost, one after the other, while they ran the call, and it is not run again: %s may be what ends them, do not send it again unchanged",
			c.Call.Lapses, r.call.Method)))
	default:
		e.counters.UnknownOutcomes.Add(1)
		defer r.done()
		r.finish(failure(r.rules, r.id, mcp.Errorf(mcp.KindUnknownOutcome,
			"the server that ran the call was lost; whether %s took effect is not known: check before you send it again", r.call.Method)))
	}
}

// claim claims a call, which has a token. A refusal stands: the call is done or another's. A reply that was
// lost is asked for again, until ctx ends: else the call would be this replica's without anybody who runs it,
// until its claim has lapsed.
func (e *Era) claim(ctx context.Context, w state.Which) (*state.Claim, error) {
	for {
		c, err := e.store.Claim(ctx, w)
		if err == nil || ctx.Err() != nil || lostCall(err) || stateError(err).Kind != mcp.KindStateUnavailable || !e.sleep(100*time.Millisecond) {
			return c, err
		}
	}
}

// claimed makes a run of a claim, registered with its session.
func (e *Era) claimed(ctx context.Context, c *state.Claim, why telemetry.Reason) (*run, error) {
	id, err := jsonrpc.NewID(c.Call.RequestID)
	if err != nil {
		return nil, fmt.Errorf("the call's record: %w", err)
	}
	r := new(run)
	if err := r.call.Params.Parse(c.Call.Method, c.Call.Params); err != nil {
		return nil, fmt.Errorf("the call's record: %w", err)
	}
	r.asked, r.before, r.call.State = openState(c.State)
	r.openElicitations = c.OpenElicitations
	r.told = mcp.Rising{Highest: c.Progress, Told: c.HasProgress}
	if r.deadline = c.Call.Deadline; r.deadline.IsZero() {
		r.deadline = time.Now().Add(e.o.CallLifetime)
	}
	r.call.ID, r.call.Attempt, r.call.Round = c.Call.ID, max(c.Call.Attempt, 1), r.asked+1
	r.call.Method, r.call.LogLevel = c.Call.Method, c.Call.LogLevel
	s := e.put(c.Session, nil)
	rec := s.rec.Load()
	r.init(e, s, rec, id)
	r.chargeClaimed()
	r.call.Principal, r.call.Client = rec.Principal, rec.client
	r.ctx, r.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	if err := e.begin(s, r, true); err != nil {
		r.cancel(nil)
		r.memory.Release()
		return nil, err
	}
	r.observeClaim(c, why)
	r.attach(c.Lease)
	return r, nil
}
