package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/era/stateful/call"
	"github.com/mcpedge/mcpedge/edge/era/stateful/run"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// execution is one task while this replica runs it, or a call that may become one. It is run's Task.
type execution struct {
	t     *Tasks
	rules *revision.Rules
	// first is the request, and origin the data from which its rounds are made.
	first  mcp.Call
	origin *origin
	// base has the values of the request's context, and is never cancelled.
	base context.Context
	// session is that of the task, created with the task.
	session *state.Session
	support mcp.TaskSupport
	// served is the backend that the request was resolved to.
	served string
	// repeatable is true if a run may be lost, since the next replica runs it again.
	repeatable bool
	// token is the client's progress token, if the task's progress is sent with it.
	token json.RawMessage
	// span is that of the request that made the task, and reason why it runs, if not for that request.
	span   trace.SpanContext
	reason telemetry.Reason
	// leave is called when the task no longer runs here; may be nil.
	leave func()
	// over is closed when the call no longer runs here; may be nil.
	over chan struct{}
	// made is true if the store has the task.
	made atomic.Bool
	// beginning is held while the beginning of the task is written: after a discard it is not written again.
	beginning sync.Mutex

	// memory is the charge of the call while it has users: the execution, and a round.
	memory budget.Reservation
	users  atomic.Int32

	// isTask is true if it has a record, or is about to have one. events receives the status of a task.
	isTask atomic.Bool
	events run.Sink
	// resting is restingNot, restingNow or restingOver: see rest.
	resting atomic.Int32
	// away counts how often in a row the backend was unavailable when it was asked for its job.
	away int
	// asked counts how often the client was asked before the current round.
	asked int
	// job is the job that the backend keeps between two rounds.
	job job

	// mu guards the following fields. sink and reply belong to a call that may become a task: the sink of its request, and the outcome if
	// it did not become one.
	mu   sync.Mutex
	sink mcp.Sink
	// backend is the one that runs the call, to which the call then belongs; empty means that of first.
	backend string
	decided bool
	// cause is why the last round failed, for the log; nil if it did not, or if clients get the whole error.
	cause error
	reply mcp.Reply
	err   error
}

var _ run.Task = (*execution)(nil)
var (
	_ mcp.Deferrer     = (*execution)(nil)
	_ mcp.Checkpointer = (*execution)(nil)
	_ mcp.Binder       = (*execution)(nil)
)

// Bind implements mcp.Binder. It also binds the request of a call that has not become a task: the call may continue there.
func (x *execution) Bind(backend string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.backend = backend
	if b, ok := x.sink.(mcp.Binder); ok {
		b.Bind(backend)
	}
}

// belongs records the backend of a call that has not run yet.
func (x *execution) belongs(backend string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.backend = cmp.Or(x.backend, backend)
}

// bound returns the backend to which the call belongs; empty if none yet.
func (x *execution) bound() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return cmp.Or(x.backend, x.first.Backend)
}

// init charges a holder with the memory of the execution.
func (x *execution) init(t *Tasks, h *budget.Holder) {
	x.t, x.memory = t, h.Begin()
	x.users.Store(1)
}

func (x *execution) release() {
	if x.users.Add(-1) == 0 {
		x.memory.Release()
	}
}

// Run implements run.Task.
func (x *execution) Run(ctx context.Context, round *medium.Record, events run.Sink) *call.Reply {
	x.users.Add(1)
	defer x.release()
	if x.isTask.Load() {
		x.rest()
	}
	if x.repeatable || round.Resumable { // A drain need not wait for the run.
		x.t.work.Rest()
		defer x.t.work.Unrest()
	}
	x.t.running.Add(1)
	defer x.t.running.Add(-1)
	x.events = events
	m := x.first
	asked, own, kept := openState(round.State)
	if kept {
		m.State, m.Responses = own, nil
	} else {
		asked = x.origin.Asked
	}
	x.asked = asked
	x.job.clear()
	if round.Resumable && kept { // The round may only query the state of the job: cancelling the round does not end the job.
		x.keepsJob(asked, own, false)
	}
	m.Round, m.Attempt, m.Envelope = asked+1, max(round.Attempt, 1), mcp.Envelope{}
	m.Begun = m.Begun || round.Round > 1 || m.Attempt > 1
	m.Backend = x.bound()
	m.Memory = &x.memory
	m.Task = &mcp.CallTask{Until: round.Deadline}
	if x.isTask.Load() {
		m.Task.ID = x.session.ID
	}
	for i := range round.Asked {
		if q := &round.Asked[i]; q.Answer != nil {
			m.Responses = append(m.Responses, mcp.InputResponse{Key: q.Key, Method: q.Method, Result: q.Answer.Result})
		}
	}
	ctx, op := x.observe(ctx, &m)
	reply, err := x.dispatch(ctx, &m)
	x.observed(&op, reply, err)
	x.first.HTTP, x.first.Header = mcp.HTTP{}, nil // They are of the first round.
	if err == nil && reply.Input != nil {
		x.away = 0
		return x.asks(round, asked, reply)
	}
	if err != nil && round.Resumable && kept && ctx.Err() == nil && mcp.AsError(err).Kind == mcp.KindUnavailable && x.away < maxAway {
		x.away++
		return &call.Reply{Kind: call.Busy, Pause: min(awayPause<<x.away, longestAway), State: round.State, Resumable: true}
	}
	return x.ends(reply, err)
}

// observe begins the span of a run of a task. A call that may become one is in that of its request.
func (x *execution) observe(ctx context.Context, m *mcp.Call) (context.Context, telemetry.Operation) {
	if m.Task.ID == "" {
		return ctx, telemetry.Operation{}
	}
	q := telemetry.Request{
		Method: m.Method, Params: &m.Params, Version: x.rules.Version, Principal: m.Principal, Call: m.ID,
		Round: m.Round, Attempt: m.Attempt, Origin: x.span, Before: x.span, Reason: x.reason, Internal: true,
	}
	q.Backend = cmp.Or(m.Backend, x.served)
	x.reason = telemetry.ReasonContinued
	return x.t.o.Telemetry.Begin(ctx, &q)
}

// observed ends the span of a run.
func (x *execution) observed(op *telemetry.Operation, reply mcp.Reply, err error) {
	o := telemetry.Outcome{ToolError: reply.ToolError, InputRequired: reply.Input != nil, Result: reply.Result}
	if err != nil {
		e := mcp.AsError(err)
		o = telemetry.Outcome{Kind: e.Kind, Code: x.rules.Code(e.Kind), Message: e.Message, Reason: e.Reason, Cause: e.Cause()}
	}
	op.Pause(&o)
}

// rest excludes the task, until its end, from the tasks for which a drain waits while its backend does not run: another replica continues
// it.
func (x *execution) rest() {
	if x.resting.CompareAndSwap(restingNot, restingNow) {
		x.t.work.Rest()
	}
}

const (
	restingNot int32 = iota
	restingNow
	restingOver // A run may begin late.
)

// dispatch calls the backend. A panic there ends this task alone.
func (x *execution) dispatch(ctx context.Context, m *mcp.Call) (reply mcp.Reply, err error) {
	defer func() {
		if p := recover(); p != nil {
			x.t.o.Logger.ErrorContext(ctx, "a call panicked", "panic", p, "method", m.Method, "stack", string(debug.Stack()))
			err = mcp.Errorf(mcp.KindInternal, "internal error")
		}
	}()
	return x.t.next.Call(ctx, x.rules, m, x)
}

// Emit implements mcp.Sink: the progress of a task becomes its status; that of a call that may become one is sent to its client.
func (x *execution) Emit(ctx context.Context, ev mcp.Event) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !x.isTask.Load() {
		return x.emitPlain(ctx, ev)
	}
	if ev.Method != mcp.NotifyProgress {
		return nil
	}
	x.events.Emit(progresses(ev.Params))
	return nil
}

// emitPlain sends events to the client of a call that may become a task, if the client requested them, until the request was answered.
func (x *execution) emitPlain(ctx context.Context, ev mcp.Event) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.sink == nil {
		return nil
	}
	return x.sink.Emit(ctx, ev)
}

// unheard records that the request was answered: later events are dropped.
func (x *execution) unheard() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sink = nil
}

// outcome returns how the call ended without becoming a task; false if it did not.
func (x *execution) outcome() (mcp.Reply, error, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.reply, x.err, x.decided
}

// statusOf returns progress as text.
func statusOf(params json.RawMessage) string {
	if raw, ok := jsonrpc.Member(params, "message"); ok {
		if text, ok := jsonrpc.Unquote(raw); ok && text != "" {
			return text
		}
	}
	progress, _ := jsonrpc.Member(params, "progress")
	if total, ok := jsonrpc.Member(params, "total"); ok {
		return string(progress) + " of " + string(total)
	}
	return string(progress)
}

// Defer implements mcp.Deferrer.
func (x *execution) Defer(context.Context) error {
	if !x.isTask.Load() {
		x.events.Emit(says(""))
	}
	return nil
}

// Checkpoint implements mcp.Checkpointer.
func (x *execution) Checkpoint(own []byte) { x.events.Checkpoint(keptState(x.asked, own)) }

// Complete implements run.Task: the call becomes a task.
func (x *execution) Complete(r *medium.Record) {
	x.isTask.Store(true)
	x.rest()
	x.fill(r)
}

// fill sets the fields of a task's record other than names, deadline and round.
func (x *execution) fill(r *medium.Record) {
	r.Method, r.Principal, r.Repeatable = x.first.Method, x.first.Principal, x.repeatable
	if r.Backend = x.bound(); r.Backend == "" {
		r.Backend = x.served
		x.belongs(r.Backend)
	}
	r.Began, r.Trace = x.session.Created, telemetry.FormatParent(x.span)
	r.Params, _ = x.origin.encode() // It was encoded before, to determine its size.
}

// Stored implements run.Task.
func (x *execution) Stored(w *medium.Write, _ time.Time, err error) {
	if err == nil && len(w.Begin) > 0 {
		x.made.Store(true)
	}
	x.job.stored(w, err)
	if errors.Is(err, state.ErrUnacknowledged) {
		x.t.counters.Unacknowledged.Add(1)
	}
	if err != nil {
		x.t.o.Logger.Debug("a step of a task was not stored", "error", err)
	}
}

// Free implements run.Task.
func (x *execution) Free() {}

// Over implements run.Task.
func (x *execution) Over(how call.How, r *call.Reply) {
	if x.made.Load() && how == call.HowEnded && r != nil {
		x.ended(r)
	}
	x.cancelJob(x.job.over(how, r))
	if x.leave != nil {
		x.leave()
	}
	x.discard()
	if x.over != nil {
		close(x.over)
	}
}

// discard records that the execution is over, or never began.
func (x *execution) discard() {
	x.t.making.Delete(x.session.ID)
	if x.resting.Swap(restingOver) == restingNow {
		x.t.work.Unrest()
	}
	x.release()
}
