package stateful

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/call/runtime"
	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// runner is one call of a session while this replica runs it. It implements runtime.Runner.
type runner struct {
	runtime.Rounds
	e  *Era
	s  *localSession
	id jsonrpc.ID
	// exchange is the exchange in which the call arrived; nil for a claimed call.
	exchange *exchange
	// record is the initial record of the machine.
	record medium.Record
	// run is the machine of a call from an exchange. Guarded by s.mu.
	run *runtime.Driver
	// cancelled is true if the client cancelled the call before it had a machine. Guarded by s.mu.
	cancelled bool
	// response and reply are those of the last round.
	response era.Response
	reply    call.Reply
	// withdrawal is mcp.InputRequired.AwaitWithdrawal of the last round, or nil. open are the ids
	// of its questions once they are stored.
	withdrawal func(context.Context) bool
	open       []string

	// op is the operation in telemetry. origin is the span with which the call began.
	op     telemetry.Operation
	origin trace.SpanContext

	// stream is the call's stream; empty means that it has no record. parked is true if the call
	// waits for its client and therefore has no owner. Guarded by s.mu.
	stream string
	parked bool
}

var _ runtime.Runner = (*runner)(nil)

// init initializes a call of a session that is charged to a holder.
func (c *runner) init(e *Era, s *localSession, rec *record, id jsonrpc.ID, h *budget.Holder) {
	c.e, c.s, c.Rules, c.id = e, s, rec.rules, id
	c.First.Envelope = mcp.Envelope{ID: id}
	c.Init(e.calls, h)
}

// begins returns the initial record for the machine of a call from an exchange.
func (c *runner) begins() *medium.Record {
	r := &c.record
	r.Session, r.ID, r.RequestID = c.s.id, c.First.ID, c.id.Raw()
	r.Round, r.Attempt, r.Deadline = 1, 1, time.Now().Add(c.e.o.CallLifetime)
	return r
}

// resolve resolves the target of a call that arrived in an exchange. A panic in it ends only this
// call.
func (c *runner) resolve() (err error) {
	m := &c.First
	defer c.Recover(c.Context, m.Method, &err)
	t, err := c.e.dispatch.Resolve(c.Context, c.Rules, m)
	c.op.Found(m.Method, &m.Params, t.Backend, t.Known)
	m.Target, c.Served = t, t.Backend
	c.Repeatable = t.Repeatable && m.Params.More().Task == nil // Another run would make another task.
	return err
}

// Run implements runtime.Runner.
func (c *runner) Run(ctx context.Context, round *medium.Record, events *runtime.Driver) *call.Reply {
	c.Hold()
	defer c.Release()
	m, _ := c.Next(round, events)
	reply, err := c.Call(ctx, c.e.dispatch, m, c)
	switch {
	case err != nil:
		return c.fail(err)
	case reply.Input == nil:
		c.response = era.Response{Outcome: telemetry.Outcome{ToolError: reply.ToolError, Task: reply.Task, Result: reply.Result}}
		c.reply = call.Reply{Kind: call.Final, Response: reply.Message(c.id)}
		return &c.reply
	case len(reply.Input.Requests) == 0:
		return c.Repeat(reply.Input)
	}
	if err := c.CheckRounds(reply.Input); err != nil {
		return c.fail(err)
	}
	c.withdrawal = reply.Input.AwaitWithdrawal
	return c.e.number(c.Ask(reply.Input, c.op.SpanContext(), c.asks(reply.Input.Requests, round.Open)))
}

// fail ends the call with an error.
func (c *runner) fail(err error) *call.Reply {
	c.response = era.Failure(c.Rules, c.id, err)
	return &call.Reply{Kind: call.Final, Response: c.response.Body}
}

// Emit implements mcp.Sink.
func (c *runner) Emit(ctx context.Context, ev mcp.Event) error {
	kind := state.EntryLog
	if ev.Method == mcp.NotifyProgress {
		kind = state.EntryProgress
	}
	err := c.Send(ctx, &state.Entry{Kind: kind, Data: notification(ev.Method, ev.Params), Progress: ev.Progress})
	if err == nil {
		c.e.o.Telemetry.Event(ctx, &ev)
	}
	return err
}

// Deliver implements runtime.Runner.
func (c *runner) Deliver(e runtime.Event) {
	switch {
	case e.Begins != nil:
		r := e.Begins
		c.Fill(r)
		r.Params, r.LogLevel, r.Trace, r.Began = c.First.Params.Raw(), c.First.LogLevel, telemetry.FormatParent(c.origin), c.op.Began()
		c.s.mu.Lock()
		c.stream = r.Stream
		c.s.mu.Unlock()
	case e.Frees:
		c.s.unregister(c, call.HowEnded)
	case e.Stored != nil:
		c.stored(e.Stored)
	}
}

// stored handles the result of a write of the call.
func (c *runner) stored(w *runtime.Stored) {
	if what := operation(w.Write); what != "" {
		c.e.o.Telemetry.Stored(c.op.SpanContext(), what, w.Began, w.Err)
	}
	if w.Err == nil {
		if w.Write.Next == medium.NextWaiting && c.withdrawal != nil { // The round has ended.
			c.open = make([]string, 0, len(w.Write.Asks))
			for i := range w.Write.Asks {
				c.open = append(c.open, w.Write.Asks[i].ID)
			}
		}
		return
	}
	switch call.FaultOf(w.Err) {
	case call.Gone:
		c.e.drop(c.s)
	case call.NoRoom:
		c.e.o.Telemetry.Hit(limitOf(w.Err, telemetry.BoundStreams))
	}
	if len(w.Write.Begin) > 0 {
		c.e.o.Logger.WarnContext(c.Context, "a stream could not be created; the call continues without one", "error", w.Err)
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

// Done implements runtime.Runner.
func (c *runner) Done(how call.How, r *call.Reply) {
	switch how {
	case call.HowParked:
		c.op.Pause(&telemetry.Outcome{InputRequired: true})
		c.e.watchWithdrawal(c)
	case call.HowEnded:
		seen := c.responseOf(r).Outcome
		seen.Backend = c.Bound()
		c.op.End(&seen)
		c.report(r)
		if seen.Task != "" {
			c.e.taskMade(c.s, seen.Task)
		}
	case call.HowGone:
		c.op.End(&telemetry.Outcome{Kind: mcp.KindCancelled, Message: "the session has ended", Backend: c.Bound()})
	default:
		c.op.Pause(&lost)
	}
	c.s.unregister(c, how)
	c.Release()
}

// responseOf returns the response to a call that ended with a reply.
func (c *runner) responseOf(r *call.Reply) era.Response {
	switch {
	case r.Failure != 0:
		o := era.Failure(c.Rules, c.id, c.e.failed(&c.record, r.Failure, r.Err))
		o.Body = r.Response
		return o
	case r.Response == nil:
		return era.Response{Outcome: cancelled}
	}
	o := c.response
	o.Body, o.Owned = r.Response, true
	return o
}

// report logs and counts the failures with which the edge itself ended the call.
func (c *runner) report(r *call.Reply) {
	switch r.Failure {
	case call.Late:
		c.e.o.Telemetry.Hit(telemetry.BoundLifetime)
	case call.Oversized:
		c.e.o.Telemetry.Hit(telemetry.BoundResult)
	case call.Poison:
		c.e.o.Logger.Error("a call was lost with each replica that ran it, and is not run again: it may be what ends these replicas",
			"call", c.First.ID, "session", c.s.rec.Load().print, "method", string(c.First.Method), "target", c.First.Params.Target,
			"replicas", c.record.Lapses, "attempts", c.e.o.MaxAttempts)
	}
}

var (
	// lost is the outcome of a run that another replica continues. cancelled is the outcome
	// of one that its client cancelled.
	lost      = telemetry.Outcome{Lost: true}
	cancelled = telemetry.Outcome{Kind: mcp.KindCancelled, Message: errCancelled.Error()}
)

// resume makes the runner of a claimed call.
func (e *Era) resume(o *medium.Owned, why runtime.Reason) (*runtime.Claimed, error) {
	r := o.Record
	id, err := jsonrpc.NewID(r.RequestID)
	if err != nil {
		return nil, fmt.Errorf("the call's record: %w", err)
	}
	s := e.put(o.Session, nil)
	rec := s.rec.Load()
	c := &runner{record: *r, stream: r.Stream}
	c.Context = mcp.WithToken(context.Background(), why.Token)
	_, c.Before, _, _ = runtime.OpenState(r.State)
	c.First = mcp.Call{ID: r.ID, Method: r.Method, Set: rec.Set, Principal: why.Caller(r), Client: rec.client, LogLevel: r.LogLevel, Backend: r.Backend}
	if err := c.First.Params.Parse(r.Method, r.Params, nil); err != nil {
		return nil, fmt.Errorf("the call's record: %w", err)
	}
	c.First.Params.Resume(r.Shown, r.Via, r.Added)
	c.init(e, s, rec, id, s.holder(e))
	c.Memory.Force(budget.Calls, copies*int64(len(r.Params))) // The memory was admitted when the call began.
	if err := s.register(e, c, claimed); err != nil {
		c.Memory.Release()
		return nil, err
	}
	c.observeClaim(why.Why, why.Began)
	claimed := &runtime.Claimed{Runner: c, Context: c.Context}
	for i := range r.Asked {
		q := &r.Asked[i]
		if q.Answer == nil {
			continue
		}
		if _, ok := runtime.Response(q); !ok {
			claimed.Refusal = c.refusedBy(q)
			break
		}
		if q.Answer.Error != nil {
			raw, _ := jsonrpc.Member(q.Answer.Error, "code")
			code, _ := strconv.Atoi(string(raw)) // 0 means that there is no code
			c.e.o.Logger.Info("the client answered a question to its user with an error: the call continues as if the user had dismissed it",
				"method", q.Method, "key", q.Key, "code", code)
		}
	}
	return claimed, nil
}

// refusedBy returns the response of a call whose client refused a required answer.
func (c *runner) refusedBy(q *medium.Question) *call.Reply {
	text := refused(q)
	if c.First.Method != mcp.MethodToolsCall {
		return c.fail(mcp.Errorf(mcp.KindCancelled, "%s", text))
	}
	c.response = resultOf(c.id, toolError(text))
	c.response.Outcome.ToolError = true
	return &call.Reply{Kind: call.Final, Response: c.response.Body}
}
