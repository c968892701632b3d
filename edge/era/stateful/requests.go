package stateful

import (
	"context"
	"errors"

	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// request serves one request of a session, other than initialize.
func (e *Era) request(ctx context.Context, in *mcp.Incoming, s *localSession, rec *record, msg jsonrpc.Message, out mcp.Outgoing) {
	if isLocal(msg) {
		respond(out, e.local(ctx, in, s, rec, msg))
		return
	}
	x := e.newExchange(ctx, s, rec, in, out)
	if err := x.add(msg); err != nil {
		e.refuse(ctx, in, out, rec, msg, mcp.AsError(err))
		return
	}
	if !in.ResolveBeforeAdmit {
		in.Admit() // Resolving the target may need a query.
	}
	if x.resolve(); len(x.calls) == 0 {
		return
	}
	in.Admit()
	x.serve()
}

// permitAnswer returns a challenge if the answered call could not continue with the credentials of
// the answer. The call then keeps waiting. Other obstacles are reported in the call's own response,
// as are all obstacles of answers in a batch.
func (e *Era) permitAnswer(ctx context.Context, in *mcp.Incoming, s *localSession, rec *record, msg jsonrpc.Message) *mcp.Error {
	ask := askOf(msg.ID)
	if ask == "" || e.o.Challenges == nil || !e.o.Challenges() {
		return nil
	}
	sctx, cancel := state.Bounded(ctx)
	defer cancel()
	asking, err := e.store.Asking(sctx, s.id, ask)
	if err != nil || asking == nil {
		return nil // The handler of the answer reports why it is not accepted.
	}
	c, invalid := callOf(in, jsonrpc.Message{ID: msg.ID, Method: string(asking.Method), Params: asking.Params})
	if invalid != nil {
		return nil
	}
	c.Backend = asking.Backend // the name belongs to this backend, even if the catalog shows it differently
	c.Params.Resume(asking.Shown, asking.Via, asking.Added)
	var refused *mcp.Error
	if _, err := e.dispatch.Resolve(ctx, rec.rules, c); !errors.As(err, &refused) || refused.Challenge == nil {
		return nil
	}
	return refused
}

// callOf returns a request as a call that is only decided on, never run. The error is that of its
// params.
func callOf(in *mcp.Incoming, msg jsonrpc.Message) (*mcp.Call, *mcp.Error) {
	call := era.NewCall(in, msg.ID, mcp.Method(msg.Method))
	call.Round = 1
	if err := call.Params.Parse(call.Method, msg.Params, msg.Outline); err != nil {
		return call, mcp.AsError(err)
	}
	return call, nil
}

// local serves a request for which isLocal is true. s and rec are nil for a ping before the handshake.
func (e *Era) local(ctx context.Context, in *mcp.Incoming, s *localSession, rec *record, msg jsonrpc.Message) era.Response {
	rules := rulesOf(in, rec)
	ctx, op := e.observe(ctx, in, rec, rules, msg)
	c, err := callOf(in, msg)
	switch {
	case c.Method == mcp.MethodPing: // Its params are ignored.
		err = nil
	case c.Method == mcp.MethodDiscover, c.Method == mcp.MethodListen:
		err = mcp.Errorf(mcp.KindMethodNotFound, "the method %q does not exist in protocol version %s", c.Method, rules.Version)
	case err != nil:
	case c.Method == mcp.MethodSetLevel:
		err = e.setLevel(ctx, s, &c.Params)
	case c.Params.Target == "":
		err = mcp.Errorf(mcp.KindInvalidParams, "%s needs uri, the resource's URI as a string", c.Method)
	case c.Method == mcp.MethodSubscribe:
		err = e.subscribe(ctx, in, s, rec, c)
	default: // resources/unsubscribe, also of an unknown subscription
		in.Admit()
		err = e.resubscribe(ctx, s, state.Patch{Unsubscribe: c.Params.Target})
	}
	o := resultOf(msg.ID, nil)
	if err != nil {
		o = era.Failure(rules, msg.ID, err)
	}
	op.End(&o.Outcome)
	return o
}

// isLocal reports whether the edge itself answers, or refuses, a request. Dispatch serves the others.
func isLocal(msg jsonrpc.Message) bool {
	switch mcp.Method(msg.Method) {
	case mcp.MethodPing, mcp.MethodSetLevel, mcp.MethodSubscribe, mcp.MethodUnsubscribe, mcp.MethodDiscover, mcp.MethodListen:
		return true
	}
	return false
}

// setLevel changes the session's log level (Logging, "Setting Log Level").
func (e *Era) setLevel(ctx context.Context, s *localSession, p *mcp.Params) *mcp.Error {
	name, _ := jsonrpc.Unquote(p.More().Level)
	level, ok := mcp.ParseLogLevel(name)
	if !ok {
		return mcp.Errorf(mcp.KindInvalidParams,
			"level %.40q is not a log level; use debug, info, notice, warning, error, critical, alert or emergency", name)
	}
	if _, err := e.update(ctx, s, state.Patch{LogLevel: &level}); err != nil {
		return err
	}
	e.notify(ctx, state.SessionEvent{Kind: state.SessionChanged, Session: s.id})
	return nil
}

// notified handles a notification. It never fails: unknown and invalid notifications are ignored.
func (e *Era) notified(ctx context.Context, in *mcp.Incoming, s *localSession, rec *record, msg jsonrpc.Message) {
	ctx, op := e.observe(ctx, in, rec, rec.rules, msg)
	defer op.End(&telemetry.Outcome{})
	switch mcp.Method(msg.Method) {
	case mcp.NotifyInitialized:
		if !rec.Initialized {
			// A session is served from its creation (a SHOULD of the specification), so the result
			// is not awaited.
			_, _ = e.update(ctx, s, state.Patch{Initialized: true})
		}
	case mcp.NotifyCancelled:
		e.cancelled(in, s, msg)
	case mcp.NotifyRootsChanged:
		e.notify(ctx, state.SessionEvent{Kind: state.RootsChanged, Session: s.id})
	}
}

// cancelled serves notifications/cancelled (Utilities, "Cancellation"). The call ends without a
// response on whichever replica it runs or waits. A stream ends without a further event. An
// exchange that is not a stream is accepted without a body, which sends nothing on stdio. The
// cancellation of an ended or unknown call is ignored.
func (e *Era) cancelled(in *mcp.Incoming, s *localSession, msg jsonrpc.Message) {
	id, ok := era.CancelledID(msg)
	if !ok || e.cancelHere(s, id.Raw()) {
		return
	}
	in.Admit()                          // the store and the other replicas must not delay a ping
	e.calls.Cancel(s.id, id.Raw(), nil) // Only the session's principal may cancel.
}

// cancelHere cancels the call with a request id if it runs here or is about to. It returns false if
// there is no such call.
func (e *Era) cancelHere(s *localSession, id string) bool {
	s.mu.Lock()
	c := s.running[id]
	if c == nil || c.parked {
		s.mu.Unlock()
		return false
	}
	r := c.run
	if r == nil && c.exchange != nil { // The call is about to run: see exchange.serve.
		c.cancelled = true
		s.mu.Unlock()
		return true
	}
	s.mu.Unlock()
	if r == nil { // a claimed call
		return e.calls.CancelHere(c.First.ID)
	}
	r.Cancel()
	return true
}
