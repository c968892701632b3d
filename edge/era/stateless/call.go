package stateless

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// call runs one round of a request in the exchange's own goroutine. The client's disconnect or
// cancellation ends ctx and thereby the backend's work.
func (e *Era) call(ctx context.Context, rules *revision.Rules, call *mcp.Call, out mcp.Outgoing, flight *mcp.InFlight) {
	e.calls.Add(1)
	defer e.calls.Add(-1)
	call.Client.Info = call.Params.Meta.ClientInfo
	state, err := e.prepare(call)
	ctx, op := e.observeCall(ctx, call.Header, rules, call, &state)
	if err != nil {
		refuse(&op, out, rules, call.Envelope.ID, err)
		return
	}
	way := &response{e: e, out: out, flight: flight, progress: state.Progress}
	defer way.stop()
	var reply mcp.Reply
	call.Target, err = e.dispatch.Resolve(ctx, rules, call)
	op.Found(call.Method, &call.Params, call.Target.Backend, call.Target.Known)
	if err == nil {
		reply, err = e.dispatch.Call(ctx, rules, call, way)
	}
	if err == nil && reply.Input != nil {
		state.Progress, state.Backend = way.progress, cmp.Or(way.backend, state.Backend)
		reply.Result, err = e.ask(ctx, rules, call, state, reply.Input, op.SpanContext())
	}
	e.end(ctx, rules, call, way, &op, &reply, err)
}

// end ends the exchange and the operation of a call. It writes nothing after the client has
// cancelled or disconnected.
func (e *Era) end(
	ctx context.Context, rules *revision.Rules, call *mcp.Call, way *response, op *telemetry.Operation, reply *mcp.Reply, err error,
) {
	if ctx.Err() != nil {
		outcome := e.disconnected(rules, call)
		outcome.Backend = way.backend
		op.End(&outcome)
		return
	}
	if err != nil {
		response := era.Failure(rules, call.Envelope.ID, err)
		response.Outcome.Backend = way.backend
		op.End(&response.Outcome)
		way.end(response.Response)
		return
	}
	op.End(&telemetry.Outcome{ToolError: reply.ToolError, InputRequired: reply.Input != nil, Task: reply.Task, Backend: way.backend, Result: reply.Result})
	way.end(mcp.Response{Body: reply.Message(call.Envelope.ID), Owned: true})
}

// disconnected returns the outcome of a call whose connection has ended. The client has cancelled the call,
// unless the edge itself is ending connections.
func (e *Era) disconnected(rules *revision.Rules, call *mcp.Call) telemetry.Outcome {
	if !e.aborting.Load() {
		return telemetry.Outcome{Kind: mcp.KindCancelled, Message: "the client cancelled the call"}
	}
	err := mcp.Errorf(mcp.KindUnknownOutcome, "the server has shut down before the call ended; whether it took effect is not known")
	if call.Target.Repeatable {
		err = mcp.Errorf(mcp.KindUnavailable, "the server has shut down before the call ended")
	}
	return era.Failure(rules, call.Envelope.ID, err).Outcome
}

// prepare reads the data about the call in `_meta` and in the state of the previous rounds.
func (e *Era) prepare(call *mcp.Call) (sealed, error) {
	params := &call.Params
	var err error
	if call.Client.Capabilities, err = mcp.ParseCapabilities(params.Meta.Capabilities); err != nil {
		return sealed{}, missing(mcp.MetaCapabilities)
	}
	if raw := params.Meta.More().LogLevel; raw != nil {
		name, _ := jsonrpc.Unquote(raw)
		level, ok := mcp.ParseLogLevel(name)
		if !ok {
			return sealed{}, mcp.Errorf(mcp.KindInvalidParams, "log level %.40s does not exist: use debug, info, notice, warning, error, critical, alert or emergency", raw)
		}
		call.LogLevel = level
	}
	return e.resume(call)
}

// response is the response of one call: JSON if the result is ready before StreamAfter and before
// any event, otherwise a stream. Its timer opens the stream, and sends keep-alives on an open one:
// proxies end a silent stream, and a client's disconnect is a cancellation. The mutex guards
// against concurrent use by the timer and the call.
type response struct {
	e      *Era
	out    mcp.Outgoing
	flight *mcp.InFlight
	// legacy means that the statuses of errors are those of the revisions with sessions.
	legacy bool
	// progress is the progress sent to the client, including previous rounds. Only dispatch's
	// goroutine uses it.
	progress mcp.ProgressTracker
	// backend is that of the last round; empty if there was none. Only dispatch's goroutine uses
	// it.
	backend string

	mu     sync.Mutex
	stream mcp.Stream  // nil while it may still be JSON
	timer  *time.Timer // nil until the backend is called or an event is emitted
	err    error       // not nil once the stream has failed
	ended  bool
}

var (
	_ mcp.Sink   = (*response)(nil)
	_ mcp.Binder = (*response)(nil)
)

// Bind implements mcp.Binder. StreamAfter counts from here, because errors before it have their own
// HTTP status.
func (a *response) Bind(backend string) {
	a.backend = backend
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timer == nil && !a.ended {
		a.timer = time.AfterFunc(a.e.opts.StreamAfter, a.tick)
	}
}

// Emit implements mcp.Sink.
func (a *response) Emit(ctx context.Context, ev mcp.Event) error {
	if ctx.Err() != nil {
		return ctx.Err() // cancelled: nothing may be written afterwards
	}
	if ev.Method == mcp.NotifyProgress && !a.progress.Advance(ev.Progress) {
		return nil
	}
	a.e.opts.Telemetry.Event(ctx, &ev)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stream == nil {
		if !a.open() {
			return a.err
		}
		if a.timer == nil {
			a.timer = time.AfterFunc(a.e.opts.KeepAlive, a.tick)
		} else {
			a.timer.Reset(a.e.opts.KeepAlive)
		}
	}
	return a.send(mcp.StreamEvent{Data: jsonrpc.AppendNotification(nil, string(ev.Method), ev.Params)})
}

// open makes the response a stream. It returns false if the client has disconnected.
func (a *response) open() bool {
	a.stream, a.err = a.out.Open()
	return a.err == nil
}

// end sends the response, as JSON or on the open stream.
func (a *response) end(r mcp.Response) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
	if a.stream == nil {
		r.Modern = !a.legacy
		a.out.Respond(r)
		return
	}
	if a.flight.Finish() {
		_ = a.send(mcp.StreamEvent{Data: r.Body, More: true}) // ends the stream
	}
}

// stop leaves the stream to the transport: no keep-alive is sent afterwards.
func (a *response) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
	if a.timer != nil {
		a.timer.Stop()
	}
}

func (a *response) send(ev mcp.StreamEvent) error {
	if a.err == nil {
		a.err = a.stream.Send(ev)
	}
	return a.err
}

func (a *response) tick() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended || a.err != nil || a.stream == nil && !a.open() {
		return
	}
	a.err = a.stream.KeepAlive()
	a.timer.Reset(a.e.opts.KeepAlive)
}

// observe begins the operation of a message that is not a call. params may be nil.
func (e *Era) observe(ctx context.Context, in *mcp.Incoming, msg jsonrpc.Message, rules *revision.Rules, params *mcp.Params) (context.Context, telemetry.Operation) {
	r := era.OperationOf(in, msg, rules, params)
	if params != nil {
		r.Client = e.opts.Telemetry.ClientName(params.Meta.ClientInfo)
	}
	return e.opts.Telemetry.Begin(ctx, &r)
}

// observeCall begins the operation of one round of a call. It links the round to the previous
// round. If the request names no trace, the round also joins that round's trace. header is that of
// the HTTP request, or nil.
func (e *Era) observeCall(ctx context.Context, header mcp.Header, rules *revision.Rules, call *mcp.Call, state *sealed) (context.Context, telemetry.Operation) {
	t := e.opts.Telemetry
	if t == nil {
		return ctx, telemetry.Operation{}
	}
	r := era.OperationOfCall(call, rules)
	r.Header, r.Pipe, r.Client = header, header == nil, t.ClientName(call.Client.Info)
	if state.Before != "" {
		r.Origin, r.Before = telemetry.ParseParent(state.Origin), telemetry.ParseParent(state.Before)
		r.Reason = telemetry.ReasonAnswered
		if len(state.Methods) == 0 {
			r.Reason = telemetry.ReasonContinued
		}
	}
	return t.Begin(ctx, &r)
}

// cancelled serves notifications/cancelled on a connection that carries many requests (Patterns,
// "Cancellation"): nothing more is written for the request. It ignores requests that are not in
// flight.
func (e *Era) cancelled(in *mcp.Incoming, msg jsonrpc.Message) {
	id, ok := era.CancelledID(msg)
	if !ok || !in.Conn.Cancel(id) {
		return
	}
	reason, _ := jsonrpc.Member(msg.Params, "reason")
	text, _ := jsonrpc.Unquote(reason)
	e.opts.Logger.Debug("request cancelled", "id", id.String(), "reason", text)
}

// cancellable is the Outgoing of a request that may be cancelled by its id.
type cancellable struct {
	mcp.Outgoing
	flight *mcp.InFlight
}

// Respond frees the id before the client can receive the response. After a cancellation it writes
// nothing.
func (c *cancellable) Respond(r mcp.Response) {
	if c.flight.Finish() {
		c.Outgoing.Respond(r)
		return
	}
	c.Outgoing.Accept()
}
