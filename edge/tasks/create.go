package tasks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/call/runtime"
	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// callTool serves tools/call as a plain call, at once as a task, or as a call that may become one.
func (t *Tasks) callTool(ctx context.Context, rules *revision.Rules, c *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
	if c.Target == nil { // a later round, or a repeated one
		target, err := t.next.Resolve(ctx, rules, c)
		if err != nil {
			return mcp.Reply{}, err
		}
		resolved := *c
		resolved.Target = target
		c = &resolved
	}
	s := c.Target.Tasks
	declared := rules.Stateless && (s.Optional || s.Required) && c.Client.Capabilities.Extension(mcp.ExtensionTasks)
	wanted := rules.Tasks && c.Params.More().Task != nil
	switch {
	case c.Target.Misused != nil && wanted: // the client wants a task, so the error cannot be a tool result
		return mcp.Reply{}, mcp.Errorf(mcp.KindInvalidParams, "%w", c.Target.Misused)
	case c.Target.Misused != nil:
		return t.next.Call(ctx, rules, c, sink)
	case wanted && !s.Optional && !s.Required:
		return mcp.Reply{}, mcp.Errorf(mcp.KindMethodNotFound, "the tool %q cannot be called as a task: leave out params.task", requested(c))
	case s.Required && rules.Stateless && !declared:
		return mcp.Reply{}, era.TasksUndeclared("the tool " + c.Params.Sent.Target)
	case s.Required && !rules.Stateless && !wanted:
		return mcp.Reply{}, mcp.Errorf(mcp.KindMethodNotFound, "the tool %q can only be called as a task: %s", c.Params.Sent.Target, requestHint(rules))
	case !declared && !wanted:
		return t.next.Call(ctx, rules, c, sink)
	}
	if !t.work.Enter() {
		return mcp.Reply{}, mcp.ShuttingDown()
	}
	defer t.work.Leave()
	x, err := t.newRunner(ctx, rules, c)
	if err != nil {
		return mcp.Reply{}, err
	}
	if wanted || s.AtOnce {
		return t.atOnce(ctx, rules, c, x)
	}
	return t.deferred(ctx, rules, c, x, sink)
}

// requested returns the name of the tool that the client called, which may be a tool of the edge
// for another request.
func requested(c *mcp.Call) string {
	if c.Method == mcp.MethodToolsCall {
		return c.Params.Sent.Target
	}
	return c.Params.Via()
}

// askedTTL returns the lifetime that the client requests in params.task, or 0 if there is none. The
// task may be kept for a shorter time, and is kept at least as long as other tasks: receivers may
// override it (2025-11-25, Tasks, "TTL and Resource Management").
func askedTTL(raw json.RawMessage) (time.Duration, error) {
	if jsonrpc.TypeOf(raw) != jsonrpc.Object {
		return 0, mcp.Errorf(mcp.KindInvalidParams, "params.task must be an object: send {}, or leave it out for a plain call")
	}
	ttl, ok := jsonrpc.Member(raw, "ttl")
	if !ok || jsonrpc.TypeOf(ttl) == jsonrpc.Null {
		return 0, nil
	}
	if jsonrpc.TypeOf(ttl) != jsonrpc.Number {
		return 0, mcp.Errorf(mcp.KindInvalidParams, "params.task.ttl must be a number of milliseconds, or left out")
	}
	ms, _ := strconv.ParseFloat(string(ttl), 64) // Values that are too large become infinite.
	return time.Duration(min(max(ms, 0), float64(maxTTL.Milliseconds()))) * time.Millisecond, nil
}

// requestHint describes, for an error, how a client requests a task.
func requestHint(rules *revision.Rules) string {
	if rules.Tasks {
		return `send "task":{} in the params`
	}
	return "protocol version " + revision.Since(func(r *revision.Rules) bool { return r.Tasks }) + " and later can"
}

// newRunner makes the runner of a request. The runner resolves its rounds itself: the request's own
// target ends with the request.
func (t *Tasks) newRunner(ctx context.Context, rules *revision.Rules, c *mcp.Call) (*runner, error) {
	origin, err := originOf(c)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	s := &state.Session{
		ID: newID(now, t.o.Text()), Version: rules.Version, Set: c.Set, Principal: c.Principal, Address: c.From, Created: now,
		ClientInfo: bytes.Clone(c.Client.Info), Capabilities: bytes.Clone(c.Client.Capabilities.Raw),
	}
	x := &runner{t: t, origin: origin, support: c.Target.Tasks, session: s, span: trace.SpanContextFromContext(ctx), reason: telemetry.ReasonContinued}
	x.Rules, x.Context, x.Served, x.Repeatable = rules, context.WithoutCancel(ctx), c.Target.Backend, c.Target.Repeatable
	if rules.Tasks {
		ttl, err := askedTTL(c.Params.More().Task)
		if err != nil {
			return nil, err
		}
		if ttl > t.o.TTL { // Otherwise the task is kept for longer anyway.
			s.Keep = now.Add(ttl)
		}
		x.token = bytes.Clone(c.Params.Meta.ProgressToken)
	}
	x.Init(t.calls, c.Memory.Holder())
	if err := x.Charge(len(origin), copies); err != nil {
		return nil, err
	}
	began := medium.Record{Session: s.ID}
	began.Params, began.Method, began.Principal, began.Backend = origin, c.Method, c.Principal, c.Backend
	began.Shown, began.Via, began.Added = c.Params.Shown(), c.Params.Via(), bytes.Clone(c.Params.Added())
	if x.First, err = firstRound(&began, s); err != nil {
		x.Release()
		return nil, err
	}
	x.First.HTTP, x.First.Header, x.First.From, x.First.Begun = c.HTTP, c.Header, c.From, c.Begun
	return x, nil
}

// record returns the initial record of the task.
func (x *runner) record() *medium.Record {
	r := &medium.Record{Session: x.session.ID}
	r.ID, r.RequestID, r.Round, r.Attempt = x.session.ID, requestID, 1, 1
	r.Deadline = x.session.Created.Add(x.t.o.Lifetime)
	return r
}

// begins returns the first entry of the task's log. queued is true if the task waits for its turn.
func (x *runner) begins(queued bool) state.Entry {
	first := entry{
		At: x.session.Created, Tool: x.First.Params.Target, Backend: x.Served, Arguments: x.First.Params.Arguments,
		Poll: x.support.Poll.Milliseconds(), Token: x.token, Run: &claim{Replica: x.t.o.Replica, Round: 1, Attempt: 1, Queued: queued},
	}
	return state.Entry{Kind: state.EntryNotice, Data: first.encode()}
}

// atOnce makes a task before it calls the backend.
func (t *Tasks) atOnce(ctx context.Context, rules *revision.Rules, c *mcp.Call, x *runner) (mcp.Reply, error) {
	rec := x.record()
	x.begun.Store(true)
	x.fill(rec)
	begin, err := t.calls.Begin(ctx, rec, []state.Entry{x.begins(true)}, &runtime.Claimed{Runner: x, Context: x.Context})
	if err != nil {
		x.Release()
		return mcp.Reply{}, t.notBegun(x.session.ID, err)
	}
	t.noteCreated(x.session.ID)
	queued := time.Now()
	t.turns.take(c.Principal.Key(), x, func() {
		t.o.Telemetry.TaskBegan(time.Since(queued))
		begin()
	})
	v := viewOf(x.session)
	v.Poll = x.support.Poll.Milliseconds()
	return t.createdReply(rules, c, v), nil
}

// notBegun returns the error of a task that could not begin. It erases the task, which may exist
// nevertheless.
func (t *Tasks) notBegun(id string, err error) *mcp.Error {
	switch room := (*state.PrincipalRoomError)(nil); {
	case errors.As(err, &room):
		return t.storeError(id, err)
	case errors.Is(err, state.ErrLimit):
		t.o.Telemetry.Hit(telemetry.BoundTasks)
		return &mcp.Error{Kind: mcp.KindLimit, Err: err,
			Message: "you have as many tasks as you may, those that have ended and can still be read included: cancel some that work, or try again later"}
	case call.FaultOf(err) == call.Unavailable:
		t.work.Spawn(func() { t.erase(id) })
		e := t.storeError(id, err)
		if errors.Is(err, state.ErrUnacknowledged) {
			e.Message = "the task was not begun: it could not be kept in as many places as are demanded here; try again later"
		}
		return e
	case errors.Is(err, state.ErrTooLarge):
		return &mcp.Error{Kind: mcp.KindTooLarge, Err: err, Message: "the request is larger than what may be kept for a task"}
	}
	return mcp.AsError(err)
}

// erase erases a task that may exist and whose id was not sent to any client.
func (t *Tasks) erase(id string) {
	for range eraseTries {
		ctx, cancel := state.Bounded(context.Background())
		err := t.store.Delete(ctx, id)
		cancel()
		if call.FaultOf(err) != call.Unavailable {
			return
		}
		select {
		case <-time.After(time.Second):
		case <-t.calls.Draining():
			return
		}
	}
}

// eraseTries bounds the attempts of erase, one a second.
const eraseTries = 30

// deferred runs a call that becomes a task after the grace period, or when its backend requests it.
func (t *Tasks) deferred(ctx context.Context, rules *revision.Rules, c *mcp.Call, x *runner, sink mcp.Sink) (mcp.Reply, error) {
	over := make(chan struct{})
	x.sink, x.leave = sink, func() { close(over) }
	if x.wantsProgress = len(c.Params.Meta.ProgressToken) > 0; x.wantsProgress {
		x.First.Params.Meta.ProgressToken = c.Params.Meta.ProgressToken
	}
	x.First.LogLevel = c.LogLevel
	g := new(runtime.Group)
	t.calls.Init(g, 1)
	g.Ready([]state.Entry{x.begins(false)})
	out := &request{call: g.Add(ctx, x.record(), x)}
	g.Serve(ctx, out)
	reply, err, decided := x.detach()
	if !out.opened {
		t.work.Spawn(func() { x.eraseAfterwards(over) })
	}
	switch {
	case ctx.Err() != nil:
		return mcp.Reply{}, mcp.Errorf(mcp.KindCancelled, "the client cancelled the call")
	case decided:
		return reply, err
	case out.ended != nil:
		return t.notStored(out.ended)
	}
	t.noteCreated(x.session.ID)
	v, err := t.read(ctx, nil, x.session, nil)
	if err != nil {
		return mcp.Reply{}, err
	}
	return t.createdReply(rules, c, v), nil
}

// request receives the end of a call that may become a task for the call's request.
type request struct {
	call *runtime.Driver
	// opened is true if the call has become a task. Otherwise ended is its reply.
	opened bool
	ended  *call.Reply
}

var _ runtime.Outgoing = (*request)(nil)

// Respond implements runtime.Outgoing: the call has ended without becoming a task.
func (r *request) Respond(replies []*call.Reply) { r.ended = replies[0] }

// Accept implements runtime.Outgoing: the client disconnected, or cancelled, before the call became
// a task.
func (r *request) Accept() { r.call.Cancel() }

// Open implements runtime.Outgoing: the call has become a task.
func (r *request) Open(context.Context, string) { r.opened = true }

// notStored returns the reply to a call that was to become a task at its end, and that the store did
// not accept.
func (t *Tasks) notStored(r *call.Reply) (mcp.Reply, error) {
	if r.Failure != 0 {
		return mcp.Reply{}, t.failureOf(&medium.Record{}, r.Failure, r.Err)
	}
	var e entry
	if err := json.Unmarshal(r.Response, &e); err != nil {
		return mcp.Reply{}, mcp.Errorf(mcp.KindCancelled, "the client cancelled the call")
	}
	if e.Failure != nil {
		return mcp.Reply{}, e.Failure.error()
	}
	return mcp.Reply{Result: e.Result, ToolError: e.ToolError}, nil
}

// eraseAfterwards waits until the call is over, and then erases everything that it may have left in
// the store. Its client has no task.
func (x *runner) eraseAfterwards(over <-chan struct{}) {
	select {
	case <-over:
	case <-x.t.calls.Closing():
		return
	}
	if x.isTask() {
		x.t.erase(x.session.ID)
	}
}

// begin stores the beginning of a task: its session, its record and its first entries
// (runtime.Options). If the store loses the session before the record is written, begin creates it
// again.
func (t *Tasks) begin(ctx context.Context, by runtime.Runner, w *medium.Write) error {
	session := by.(*runner).session
	for range 2 {
		err := t.store.Create(ctx, session)
		if err == nil || errors.Is(err, state.ErrExists) {
			err = t.store.Commit(ctx, w)
		}
		if !errors.Is(err, state.ErrNotFound) {
			return err
		}
	}
	return fmt.Errorf("the session of a task that begins is lost again and again: %w", state.ErrUnavailable)
}
