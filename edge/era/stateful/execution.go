package stateful

import (
	"cmp"
	"context"
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

// execution is one call while this replica runs it: from its request, the answer that completed its
// questions, or a takeover, to its outcome or its next questions. It implements run.Task.
type execution struct {
	e     *Era
	s     *localSession
	rules *revision.Rules
	id    jsonrpc.ID
	// exchange is the exchange that the call arrived in; nil for a claimed call.
	exchange *exchange
	// call is the first round that runs here. Later rounds are made from it.
	call mcp.Call
	// record is the record that the machine began with.
	record medium.Record
	// ctx provides the values of the contexts of its rounds.
	ctx context.Context
	// run is the machine of a call that came in an exchange. Guarded by s.mu.
	run *run.Call
	// cancelled is whether the client cancelled it before it had a machine. Guarded by s.mu.
	cancelled bool
	// events takes the backend's events. outcome and reply are those of its last round; ran is
	// whether there was one. asked is how often the client was asked before the round.
	events  run.Sink
	asked   int
	outcome outcome
	reply   call.Reply
	ran     bool
	// backend is the backend that the call is bound to; empty means none yet. Guarded by binding:
	// the machine may read it while a round runs.
	backend string
	binding sync.Mutex
	// served is the backend that the call was resolved to. repeatable is whether it may run again
	// after its outcome was lost. A claimed call has both in its record.
	served     string
	repeatable bool
	// task is the id of the task that the call became; empty means none.
	task string
	// withdrawal is mcp.InputRequired.AwaitWithdrawal of the last round, or nil. open are the ids
	// of its questions once they are stored.
	withdrawal func(context.Context) bool
	open       []string

	// memory is what the call and its outcome hold while users is above 0. The users are the call,
	// a round and the exchange.
	memory budget.Reservation
	users  atomic.Int32

	// op is the operation that telemetry sees. origin is the span that the call began with, before
	// the span of the previous round.
	op             telemetry.Operation
	origin, before trace.SpanContext

	// stream is the call's stream; empty means that it has no record. parked is whether the client
	// was asked, so that the call has no owner. Guarded by s.mu.
	stream string
	parked bool
}

var (
	_ run.Task   = (*execution)(nil)
	_ mcp.Binder = (*execution)(nil)
)

// Bind implements mcp.Binder.
func (c *execution) Bind(backend string) {
	c.binding.Lock()
	defer c.binding.Unlock()
	c.backend = backend
}

// bound returns the backend that the call is bound to; empty means none yet.
func (c *execution) bound() string {
	c.binding.Lock()
	defer c.binding.Unlock()
	return c.backend
}

// init initializes a call of a session that is charged to a holder.
func (c *execution) init(e *Era, s *localSession, rec *record, id jsonrpc.ID, h *budget.Holder) {
	c.e, c.s, c.rules, c.id = e, s, rec.rules, id
	c.memory = h.Begin()
	c.call.Memory = &c.memory
	c.users.Store(1)
}

// begins returns the record that the machine of a call from an exchange begins with.
func (c *execution) begins() *medium.Record {
	r := &c.record
	r.Session, r.ID, r.RequestID = c.s.id, c.call.ID, c.id.Raw()
	r.Round, r.Attempt, r.Deadline = 1, 1, time.Now().Add(c.e.o.CallLifetime)
	return r
}

// release ends one use of what the execution holds.
func (c *execution) release() {
	if c.users.Add(-1) == 0 {
		c.memory.Release()
	}
}

// resolve resolves the target of a call that arrived in an exchange. A panic in it ends this call
// alone.
func (c *execution) resolve() (err error) {
	defer c.caught(c.ctx, &c.call, &err)
	t, err := c.e.dispatch.Resolve(c.ctx, c.rules, &c.call)
	c.op.Found(&c.call.Params, t.Backend, t.Known)
	c.call.Target, c.served = t, t.Backend
	c.repeatable = t.Repeatable && c.call.Params.Task == nil // Another run would make another task.
	return err
}

// caught turns a panic into the error of a call. It is deferred.
func (c *execution) caught(ctx context.Context, m *mcp.Call, err *error) {
	if p := recover(); p != nil {
		c.e.log.ErrorContext(ctx, "a call panicked", "panic", p, "method", m.Method, "stack", string(debug.Stack()))
		*err = mcp.Errorf(mcp.KindInternal, "internal error")
	}
}

// cancel cancels a call that runs here. It returns false if none does.
func (c *execution) cancel(r *run.Call) bool {
	if r == nil {
		r = c.e.calls.Call(c.call.ID)
	}
	if r != nil {
		r.Cancel()
	}
	return r != nil
}

// Run implements run.Task.
func (c *execution) Run(ctx context.Context, round *medium.Record, events run.Sink) *call.Reply {
	c.users.Add(1)
	defer c.release()
	m := &c.call
	if c.ran {
		next := c.call
		m = &next
	}
	c.events, c.ran = events, true
	m.Envelope = mcp.Envelope{ID: c.id}
	if name := c.bound(); name != "" {
		m.Backend = name
	}
	var asked int
	asked, _, m.State = openState(round.State)
	c.asked = asked
	m.Round, m.Attempt, m.Responses = asked+1, max(round.Attempt, 1), nil
	m.Begun = round.Round > 1 || m.Attempt > 1
	for i := range round.Asked {
		if q := &round.Asked[i]; q.Answer != nil && !q.Answer.Withdrawn {
			a, _ := answerOf(q)
			m.Responses = append(m.Responses, a)
		}
	}
	reply, err := c.dispatch(ctx, m)
	m.HTTP, m.Target = mcp.HTTP{}, nil // They belong to this round only.
	switch {
	case err != nil:
		return c.fail(err)
	case reply.Input == nil:
		c.outcome = outcome{seen: telemetry.Outcome{ToolError: reply.ToolError, Task: reply.Task, Result: reply.Result}}
		c.task = reply.Task
		c.reply = call.Reply{Kind: call.Final, Response: reply.Message(c.id)}
		return &c.reply
	case len(reply.Input.Requests) == 0:
		return &call.Reply{
			Kind: call.Busy, Pause: max(reply.Input.RetryAfter, minRetry), Resumable: reply.Input.Repeatable,
			State: keptState(asked, c.before, reply.Input.State),
		}
	}
	if err := reply.Input.Beyond(asked, c.e.o.MaxRounds); err != nil {
		c.e.o.Telemetry.Hit(telemetry.BoundRounds)
		return c.fail(err)
	}
	c.withdrawal = reply.Input.AwaitWithdrawal
	asks := c.asks(reply.Input.Requests, round.Open)
	return c.e.number(&call.Reply{
		Kind: call.Asks, Asks: asks, State: keptState(asked+1, c.op.SpanContext(), reply.Input.State), Resumable: reply.Input.Repeatable,
	})
}

// dispatch calls the backend. A panic in it ends this call alone.
func (c *execution) dispatch(ctx context.Context, m *mcp.Call) (reply mcp.Reply, err error) {
	defer c.caught(ctx, m, &err)
	return c.e.dispatch.Call(ctx, c.rules, m, c)
}

// fail ends the call with an error.
func (c *execution) fail(err error) *call.Reply {
	c.outcome = failure(c.rules, c.id, err)
	return &call.Reply{Kind: call.Final, Response: c.outcome.body}
}

// Emit implements mcp.Sink. An error means that this replica does not own the call any more.
func (c *execution) Emit(ctx context.Context, ev mcp.Event) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	kind := state.EntryLog
	if ev.Method == mcp.NotifyProgress {
		kind = state.EntryProgress
	}
	c.e.o.Telemetry.Event(ctx, &ev)
	c.events.Emit(&state.Entry{Kind: kind, Data: notification(ev.Method, ev.Params), Progress: ev.Progress})
	return nil
}

// Checkpoint implements mcp.Checkpointer.
func (c *execution) Checkpoint(own []byte) {
	c.events.Checkpoint(keptState(c.asked, c.before, own))
}

// Complete implements run.Task.
func (c *execution) Complete(r *medium.Record) {
	r.Method, r.Params, r.LogLevel, r.Principal = c.call.Method, c.call.Params.Raw, c.call.LogLevel, c.call.Principal
	r.Repeatable, r.Backend = c.repeatable, cmp.Or(c.bound(), c.call.Backend, c.served)
	r.Trace, r.Began = telemetry.FormatParent(c.origin), c.op.Began()
	c.s.mu.Lock()
	c.stream = r.Stream
	c.s.mu.Unlock()
}

// Stored implements run.Task.
func (c *execution) Stored(w *medium.Write, began time.Time, err error) {
	if what := operation(w); what != "" {
		c.e.o.Telemetry.Stored(c.op.SpanContext(), what, began, err)
	}
	if err == nil {
		if w.Next == medium.NextWaiting && c.withdrawal != nil { // The round has ended.
			c.open = make([]string, 0, len(w.Asks))
			for i := range w.Asks {
				c.open = append(c.open, w.Asks[i].ID)
			}
		}
		return
	}
	switch call.FaultOf(err) {
	case call.Gone:
		c.e.drop(c.s, errGone)
	case call.NoRoom:
		c.e.o.Telemetry.Hit(limitOf(err, telemetry.BoundStreams))
	}
	if len(w.Begin) > 0 {
		c.e.log.WarnContext(c.ctx, "a stream could not be begun; the call goes on without one", "error", err)
	}
}

// operation returns the name of a write's span; empty means none.
func operation(w *medium.Write) string {
	switch {
	case len(w.Begin) > 0 && w.Call != "":
		return "conclude"
	case len(w.Begin) > 0:
		return "begin"
	case w.Next == medium.NextWaiting:
		return "park"
	case w.Next == medium.NextDone:
		return "finish"
	}
	return ""
}

// Free implements run.Task.
func (c *execution) Free() { c.s.unregister(c, call.HowEnded) }

// Over implements run.Task.
func (c *execution) Over(how call.How, r *call.Reply) {
	switch how {
	case call.HowParked:
		c.op.Pause(&telemetry.Outcome{InputRequired: true})
		c.e.watchWithdrawal(c)
	case call.HowEnded:
		seen := c.outcomeOf(r).seen
		seen.Backend = c.bound()
		c.op.End(&seen)
		c.tell(r)
		if c.task != "" {
			c.e.taskMade(c.s, c.task)
		}
	case call.HowGone:
		c.op.End(&telemetry.Outcome{Kind: mcp.KindCancelled, Message: errGone.Error(), Backend: c.bound()})
	default:
		c.op.Pause(&lost)
	}
	c.s.unregister(c, how)
	c.release()
}

// outcomeOf returns the outcome of a call that ended with a reply.
func (c *execution) outcomeOf(r *call.Reply) outcome {
	switch {
	case r.Failure != 0:
		o := failure(c.rules, c.id, c.e.failed(&c.record, r.Failure, r.Err))
		o.body = r.Response
		return o
	case r.Response == nil:
		return outcome{seen: cancelled}
	}
	o := c.outcome
	o.body = r.Response
	return o
}

// tell logs and counts the failures with which the edge itself ended the call.
func (c *execution) tell(r *call.Reply) {
	switch r.Failure {
	case call.Late:
		c.e.o.Telemetry.Hit(telemetry.BoundLifetime)
	case call.Oversized:
		c.e.o.Telemetry.Hit(telemetry.BoundResult)
	case call.Poison:
		c.e.log.Error("a call was lost with every replica that ran it, and is not run again: it may be what ends them",
			"call", c.call.ID, "session", c.s.rec.Load().print, "method", string(c.call.Method), "target", c.call.Params.Target,
			"replicas", c.record.Lapses, "attempts", c.e.o.MaxAttempts)
	}
}

var (
	// lost is the outcome of an execution that another replica continues, cancelled the outcome of
	// one that its client cancelled.
	lost      = telemetry.Outcome{Lost: true}
	cancelled = telemetry.Outcome{Kind: mcp.KindCancelled, Message: errCancelled.Error()}
)
