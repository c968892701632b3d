package stateful

import (
	"context"
	"errors"
	"slices"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/call/runtime"
	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

// exchange is one POST: the calls that share its response, and their stream once a call needs one.
// It implements runtime.Outgoing.
type exchange struct {
	e   *Era
	s   *localSession
	rec *record
	in  *mcp.Incoming
	// ctx and out are the transport's.
	ctx   context.Context
	out   mcp.Outgoing
	group runtime.Group

	calls []*runner
	// ready are the responses of the batch entries that need no backend.
	ready [][]byte
	array bool
	// released are functions that run the calls which the batch's answers completed.
	released []func()
	// opened is true once the exchange is a stream.
	opened bool
	// over is true once the exchange has ended. Guarded by s.mu.
	over bool

	// first and only are the storage of an exchange with one call.
	first runner
	only  [1]*runner
}

func (e *Era) newExchange(ctx context.Context, s *localSession, rec *record, in *mcp.Incoming, out mcp.Outgoing) *exchange {
	x := &exchange{e: e, s: s, rec: rec, in: in, ctx: ctx, out: out}
	x.calls = x.only[:0]
	return x
}

// add registers one call, which serve runs. It copies the params, because a call may outlive its
// exchange.
func (x *exchange) add(msg jsonrpc.Message) error {
	c := &x.first
	if len(x.calls) > 0 {
		c = new(runner)
	}
	c.First = mcp.Call{
		ID: mcp.NewCallID(), Attempt: 1, Round: 1, Method: mcp.Method(msg.Method), Set: x.rec.Set,
		HTTP: x.in.HTTP, Principal: x.in.Principal, From: x.in.Address, Client: x.rec.client, LogLevel: x.rec.LogLevel,
	}
	if err := c.First.Params.Parse(c.First.Method, append([]byte(nil), msg.Params...), msg.Outline); err != nil {
		return err
	}
	if isListing(c.First.Method) {
		x.e.serveLists(x.ctx, x.s, x.rec, &x.in.Principal)
	}
	c.init(x.e, x.s, x.rec, msg.ID, x.in.Memory.Holder())
	c.exchange = x
	if err := c.Charge(len(msg.Params), copies); err != nil {
		return err
	}
	if err := x.register(c); err != nil {
		c.Memory.Release()
		return err
	}
	c.observe(x.ctx, x.in)
	c.Hold() // released by the exchange
	x.calls = append(x.calls, c)
	return nil
}

// resolve resolves the targets of the calls. Calls that fail are answered and removed from the
// exchange.
func (x *exchange) resolve() {
	x.calls = slices.DeleteFunc(x.calls, func(c *runner) bool {
		err := c.resolve()
		if err == nil {
			return false
		}
		x.e.counters.Calls.Add(1)
		o := era.Failure(c.Rules, c.id, err)
		x.s.mu.Lock()
		if c.cancelled {
			o = era.Response{Outcome: cancelled}
		}
		x.s.mu.Unlock()
		c.op.End(&o.Outcome)
		c.s.unregister(c, call.HowEnded)
		c.Memory.Release()
		switch {
		case !x.array:
			respond(x.out, o)
		case o.Body != nil:
			x.ready = append(x.ready, o.Body)
		}
		return true
	})
}

// serve runs the calls and ends the exchange. A disconnect of the client does not end the calls.
func (x *exchange) serve() {
	e := x.e
	e.counters.Calls.Add(int64(len(x.calls)))
	e.calls.Init(&x.group, len(x.calls))
	if len(x.ready) > 0 {
		entries := make([]state.Entry, len(x.ready))
		for i, m := range x.ready {
			entries[i] = state.Entry{Kind: state.EntryNotice, Data: m}
		}
		x.group.Ready(entries)
	}
	x.s.mu.Lock()
	for _, c := range x.calls {
		c.run = x.group.Add(c.Context, c.begins(), c)
	}
	gone := errors.Is(x.s.ended, errGone)
	x.s.mu.Unlock()
	for _, c := range x.calls { // before they can be cancelled through run
		if gone {
			c.run.End()
		}
		if c.cancelled { // The flag cannot be set any more.
			c.run.Cancel()
		}
	}
	x.group.Serve(x.ctx, x)
	x.s.mu.Lock()
	x.over = true
	for _, c := range x.calls {
		x.s.freeParked(c)
	}
	x.s.mu.Unlock()
	if !x.opened {
		x.release()
	}
}

// release releases the exchange's reference to the memory of its calls.
func (x *exchange) release() {
	for _, c := range x.calls {
		c.Release()
	}
}

// Respond implements runtime.Outgoing. It answers a batch with one array.
func (x *exchange) Respond(replies []*call.Reply) {
	if !x.array {
		respond(x.out, x.calls[0].responseOf(replies[0]))
		return
	}
	body := append(make([]byte, 0, 512), '[')
	for _, m := range x.ready {
		body = append(append(body, m...), ',')
	}
	for _, r := range replies {
		if r.Response != nil {
			body = append(append(body, r.Response...), ',')
		}
	}
	if len(body) == 1 {
		x.out.Accept()
		return
	}
	body[len(body)-1] = ']'
	x.out.Respond(mcp.Response{Body: body})
}

// Accept implements runtime.Outgoing.
func (x *exchange) Accept() { x.out.Accept() }

// Open implements runtime.Outgoing. Because a stream may stay open for long, it frees the body,
// which the calls have copied, and releases the calls' memory.
func (x *exchange) Open(ctx context.Context, stream string) {
	x.opened = true
	x.in.DropBody()
	x.release()
	st, err := x.out.Open()
	if err != nil {
		return // The client has disconnected; the calls continue and write to the log.
	}
	x.e.follow(ctx, st, x.s, x.rec, x.in.Memory.Holder(), runtime.Log{Stream: stream, Prime: x.rec.rules.Priming, Opens: true})
}

// discard ends calls that were added but did not run.
func (x *exchange) discard(err *mcp.Error) {
	seen := era.Failure(x.rec.rules, jsonrpc.ID{}, err).Outcome
	for _, c := range x.calls {
		c.op.End(&seen)
		c.s.unregister(c, call.HowEnded)
		c.Memory.Release()
	}
}

var _ runtime.Outgoing = (*exchange)(nil)

// Batch serves an array of messages (Base Protocol, "Batching"). Its requests are answered
// together: with one array if all end in time, otherwise on one stream that the last response ends.
func (e *Era) Batch(ctx context.Context, in *mcp.Incoming, batch []jsonrpc.BatchEntry, out mcp.Outgoing) {
	refuse := func(rec *record, err *mcp.Error) {
		e.refuseBatch(ctx, in, out, rec, batch, err)
	}
	if !e.work.Enter() {
		refuse(nil, mcp.ShuttingDown())
		return
	}
	defer e.work.Leave()
	for _, b := range batch {
		if err := admit(in, b.Kind, b.Method); err != nil {
			refuse(nil, err)
			return
		}
		if isInitialize(b.Message) {
			refuse(nil, mcp.Errorf(mcp.KindInvalidRequest, "initialize cannot be part of a batch; send it alone"))
			return
		}
	}
	s, rec, err := e.requireSession(ctx, in)
	switch {
	case err != nil && err.Kind == mcp.KindSessionRequired && e.sealsID(in):
		err = mcp.Errorf(mcp.KindSessionRequired, "a batch needs a session, and the request names none: "+
			"send its messages one by one, or initialize, then the Mcp-Session-Id of its response with every request")
	case err == nil && !rec.rules.Batching:
		err = mcp.Errorf(mcp.KindInvalidRequest, "protocol version %s has no batches; send one message at a time", rec.rules.Version)
	}
	if err != nil {
		refuse(rec, err)
		return
	}
	x := e.newExchange(ctx, s, rec, in, out)
	x.array = true
	for i := range batch {
		if err := e.entry(ctx, in, x, &batch[i]); err != nil {
			// No call of the batch has run yet.
			x.discard(err)
			e.refuseBatch(ctx, in, out, rec, batch[i:], err)
			x.releaseAnswered()
			return
		}
	}
	if len(x.calls) == 0 {
		x.Respond(nil)
		x.releaseAnswered()
		return
	}
	x.releaseAnswered() // The responses of the batch's own requests may take long.
	in.Admit()
	if x.resolve(); len(x.calls) == 0 {
		x.Respond(nil)
		return
	}
	x.serve()
}

// entry serves an entry that needs no backend, and adds any other to the exchange. An error refuses
// the whole batch.
func (e *Era) entry(ctx context.Context, in *mcp.Incoming, x *exchange, b *jsonrpc.BatchEntry) *mcp.Error {
	switch {
	case b.Err != nil:
		var pe *jsonrpc.ParseError
		if errors.As(b.Err, &pe) && !pe.Reply {
			x.ready = append(x.ready, jsonrpc.AppendError(nil, pe.ID, pe.Code, pe.Message, nil))
		}
	case b.Kind == jsonrpc.Notification:
		e.notified(ctx, in, x.s, x.rec, b.Message)
	case b.Kind != jsonrpc.Request:
		release, err := e.answered(ctx, in, x.s, b.Message)
		if release != nil {
			x.released = append(x.released, release)
		}
		return err
	default:
		if isLocal(b.Message) {
			x.ready = append(x.ready, e.local(ctx, in, x.s, x.rec, b.Message).Body)
			return nil
		}
		if err := x.add(b.Message); err != nil {
			if errors.Is(err, errGone) || errors.Is(err, errClosed) {
				return mcp.AsError(err)
			}
			x.ready = append(x.ready, e.refused(ctx, in, x.rec, x.rec.rules, b.Message, mcp.AsError(err)).Body)
		}
	}
	return nil
}

// refuseBatch answers a whole batch with one error, which is the outcome of each of its requests.
// left are the entries without an operation in telemetry.
func (e *Era) refuseBatch(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing, rec *record, left []jsonrpc.BatchEntry, err *mcp.Error) {
	for i := range left {
		if left[i].Err == nil && left[i].Kind == jsonrpc.Request {
			e.refused(ctx, in, nil, rulesOf(in, rec), left[i].Message, err)
		}
	}
	e.refuse(ctx, in, out, rec, jsonrpc.Message{}, err)
}

// releaseAnswered runs the calls that the batch's answers completed.
func (x *exchange) releaseAnswered() {
	for _, run := range x.released {
		run()
	}
}
