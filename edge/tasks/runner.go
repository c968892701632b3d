package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/call/runtime"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// runner is one task while this replica runs it, or a call that may become one. It implements
// runtime.Runner.
type runner struct {
	runtime.Rounds
	t *Tasks
	// origin is the encoded origin, from which the rounds are made. nil means that the task had ended
	// when it was claimed, and only its end is written again.
	origin json.RawMessage
	// session is the session of the task; it is created with the task.
	session *state.Session
	support mcp.TaskSupport
	// token is the client's progress token, if the task's progress is sent with it.
	token json.RawMessage
	// wantsProgress is true if the client of a call that may become a task gave a progress token.
	// Otherwise the call has the token progressToken, under which the client gets no progress.
	wantsProgress bool
	// span is the span of the request that made the task. reason is why another run began, if the
	// request itself did not begin it.
	span   trace.SpanContext
	reason telemetry.Reason
	// leave is called when the task no longer runs here; may be nil.
	leave func()
	// begun is true once the call's record is being stored; it may be in the store already. made is
	// true once the task is in the store. A call that ends before it has begun has left nothing. One
	// that has begun, and is not made, may have left a task that its client does not know: it is
	// erased. So is a task that was made after its client had disconnected.
	begun, made atomic.Bool
	// attempt is that of the round that runs or ran last.
	attempt atomic.Int64
	// away counts the consecutive queries of the job at which the backend was unavailable.
	away int
	// job is the job that the backend keeps between two rounds.
	job job

	// mu guards the following fields. sink and reply belong to a call that may become a task: the
	// sink of its request, and the reply if it did not become one.
	mu      sync.Mutex
	sink    mcp.Sink
	decided bool
	// cause is the error of the last round, for the log; nil if the round succeeded, or if clients
	// get the whole error.
	cause error
	reply mcp.Reply
	err   error
}

var (
	_ runtime.Runner = (*runner)(nil)
	_ mcp.Deferrer   = (*runner)(nil)
)

// Bind implements mcp.Binder. The backend is about to be called. Bind also binds the request of a call that has not become a task: the
// call may continue at that backend.
func (x *runner) Bind(backend string) {
	x.job.reach()
	x.Rounds.Bind(backend)
	x.mu.Lock()
	defer x.mu.Unlock()
	if b, ok := x.sink.(mcp.Binder); ok {
		b.Bind(backend)
	}
}

// Run implements runtime.Runner.
func (x *runner) Run(ctx context.Context, round *medium.Record, events *runtime.Driver) *call.Reply {
	x.Hold()
	defer x.Release()
	if x.Repeatable || round.Resumable { // A drain need not wait for the run.
		x.t.work.Idle()
		defer x.t.work.Active()
	}
	x.t.running.Add(1)
	defer x.t.running.Add(-1)
	m, kept := x.Next(round, events)
	x.attempt.Store(int64(m.Attempt))
	repeatable := round.Resumable && kept
	x.job.start(ctx.Done(), repeatable)
	if repeatable { // The round may only query the state of the job: cancelling the round does not end the job.
		x.loadsJob(x.Asked, m.State, true, true)
	}
	m.Task = &mcp.CallTask{Until: round.Deadline}
	if x.isTask() {
		m.Task.ID = x.session.ID
	}
	ctx, op := x.observe(ctx, m)
	reply, err := x.Call(ctx, x.t.next, m, x)
	x.observed(&op, reply, err)
	if err == nil && reply.Input != nil {
		x.away = 0
		return x.asks(round, reply)
	}
	if err != nil && repeatable && ctx.Err() == nil && mcp.AsError(err).Kind == mcp.KindUnavailable && x.away < maxAway {
		x.away++
		return &call.Reply{Kind: call.Busy, Pause: min(awayPause<<x.away, longestAway), State: round.State, Resumable: true}
	}
	return x.endRound(reply, err)
}

// observe begins the span of a run of a task. A call that may become a task is part of its
// request's span.
func (x *runner) observe(ctx context.Context, m *mcp.Call) (context.Context, telemetry.Operation) {
	if m.Task.ID == "" {
		return ctx, telemetry.Operation{}
	}
	q := telemetry.Request{
		Set:    x.First.Set,
		Method: m.Method, Params: &m.Params, Version: x.Rules.Version, Principal: m.Principal, Call: m.ID,
		Round: m.Round, Attempt: m.Attempt, Origin: x.span, Before: x.span, Reason: x.reason, Internal: true,
		Backend: cmp.Or(m.Backend, x.Served),
	}
	x.reason = telemetry.ReasonContinued
	return x.t.o.Telemetry.Begin(ctx, &q)
}

// observed ends the span of a run.
func (x *runner) observed(op *telemetry.Operation, reply mcp.Reply, err error) {
	o := telemetry.Outcome{ToolError: reply.ToolError, InputRequired: reply.Input != nil, Result: reply.Result}
	if err != nil {
		e := mcp.AsError(err)
		o = telemetry.Outcome{Kind: e.Kind, Code: x.Rules.Code(e.Kind), Message: e.Message, Reason: e.Reason, Cause: e.Cause()}
	}
	op.Pause(&o)
}

// isTask reports whether the call has a record or is about to have one.
func (x *runner) isTask() bool { return x.begun.Load() }

// Emit implements mcp.Sink: the progress of a task becomes its status; that of a call that may
// become one is sent to its client.
func (x *runner) Emit(ctx context.Context, ev mcp.Event) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !x.isTask():
		return x.emitPlain(ctx, ev)
	case ev.Method != mcp.NotifyProgress:
		return nil
	}
	return x.Send(ctx, progresses(ev.Params))
}

// emitPlain sends events to the client of a call that may become a task, if the client requested
// them, until the request is answered.
func (x *runner) emitPlain(ctx context.Context, ev mcp.Event) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.sink == nil || ev.Method == mcp.NotifyProgress && !x.wantsProgress {
		return nil
	}
	return x.sink.Emit(ctx, ev)
}

// detach ends the request of a call: later events are dropped. It returns the reply to a call that
// did not become a task. decided is false if the call has not ended, or became a task.
func (x *runner) detach() (reply mcp.Reply, err error, decided bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sink = nil
	return x.reply, x.err, x.decided
}

// Defer implements mcp.Deferrer.
func (x *runner) Defer(ctx context.Context) error {
	if x.isTask() {
		return nil
	}
	return x.Send(context.WithoutCancel(ctx), &state.Entry{Kind: state.EntryLog, Data: entry{}.encode()})
}

// Deliver implements runtime.Runner.
func (x *runner) Deliver(e runtime.Event) {
	switch {
	case e.Begins != nil: // The call becomes a task.
		x.begun.Store(true)
		x.fill(e.Begins)
	case e.Stores != nil:
		x.job.stores(e.Stores)
	case e.Stored != nil:
		x.stored(e.Stored)
	}
}

// fill sets the fields of a task's record other than names, deadline and round.
func (x *runner) fill(r *medium.Record) {
	x.Settle()
	x.Fill(r)
	r.Params, r.Began, r.Trace = x.origin, x.session.Created, telemetry.FormatParent(x.span)
}

// stored handles the result of a write of the call.
func (x *runner) stored(w *runtime.Stored) {
	if w.Err == nil && len(w.Write.Begin) > 0 {
		x.made.Store(true)
	}
	x.cancelJob(x.job.stored(w.Write, w.Err))
	if errors.Is(w.Err, state.ErrUnacknowledged) {
		x.t.counters.Unacknowledged.Add(1)
	}
	if w.Err != nil {
		x.t.o.Logger.Debug("a step of a task was not stored", "error", w.Err)
	}
}

// Done implements runtime.Runner.
func (x *runner) Done(how call.How, r *call.Reply) {
	if x.made.Load() && how == call.HowEnded && r != nil {
		x.ended(r)
	}
	x.cancelJob(x.job.finish(how, r))
	x.Release()
	if x.leave != nil {
		x.leave()
	}
}
