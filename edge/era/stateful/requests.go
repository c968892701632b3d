package stateful

import (
	"context"
	"errors"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// request serves one request of a session, other than initialize.
func (e *Era) request(ctx context.Context, in *mcp.Incoming, s *localSession, rec *record, msg jsonrpc.Message, out mcp.Outgoing) {
	if o, ok := e.local(ctx, in, s, rec, msg); ok {
		respond(out, o)
		return
	}
	x := e.newExchange(ctx, s, rec, in, out)
	if err := x.add(msg); err != nil {
		e.refuse(ctx, in, out, rec.rules, msg, beginError(err))
		return
	}
	if !in.ResolveBeforeAdmit {
		in.Admit() // Its target may need a query.
	}
	if x.resolve(); len(x.calls) == 0 {
		return
	}
	in.Admit()
	x.serve()
}

// permitAnswer returns a challenge if the call that an answer is for could not continue with the
// credentials of the answer; the call keeps waiting. Other obstacles are reported in the call's own
// response, as are those of the answers in a batch.
func (e *Era) permitAnswer(ctx context.Context, in *mcp.Incoming, s *localSession, rec *record, msg jsonrpc.Message) *mcp.Error {
	ask := askOf(msg.ID)
	if ask == "" || e.o.Challenges == nil || !e.o.Challenges() {
		return nil
	}
	sctx, cancel := e.bounded(ctx)
	defer cancel()
	asking, err := e.store.Asking(sctx, s.id, ask)
	if err != nil || asking == nil {
		return nil // The handler of the answer reports why it cannot be taken.
	}
	c := named(in, jsonrpc.Message{ID: msg.ID, Method: string(asking.Method), Params: asking.Params})
	if c == nil {
		return nil
	}
	var refused *mcp.Error
	if _, err := e.dispatch.Resolve(ctx, rec.rules, c); !errors.As(err, &refused) || refused.Challenge == nil {
		return nil
	}
	return refused
}

// named returns a request as a call that is only resolved, never run. It returns nil if its params
// are invalid; the handler of the request reports that.
func named(in *mcp.Incoming, msg jsonrpc.Message) *mcp.Call {
	call := &mcp.Call{
		Attempt: 1, Round: 1, Method: mcp.Method(msg.Method), Envelope: mcp.Envelope{ID: msg.ID},
		HTTP: in.HTTP, Principal: in.Principal, From: in.Address,
	}
	if call.Params.Parse(call.Method, msg.Params, msg.Outline) != nil {
		return nil
	}
	return call
}

// beginError converts the error of a call that could not begin for the client.
func beginError(err error) *mcp.Error {
	switch {
	case errors.Is(err, errGone):
		return sessionNotFound()
	case errors.Is(err, errClosed):
		return shuttingDown()
	default:
		return mcp.AsError(err)
	}
}

// local serves requests that the edge answers itself. It returns false for requests for dispatch.
func (e *Era) local(ctx context.Context, in *mcp.Incoming, s *localSession, rec *record, msg jsonrpc.Message) (outcome, bool) {
	m := mcp.Method(msg.Method)
	if !isLocal(m) {
		return outcome{}, false
	}
	var err *mcp.Error
	ctx, op := e.observe(ctx, in, rec, rec.rules, msg)
	switch m {
	case mcp.MethodSetLevel:
		err = e.setLevel(ctx, s, msg)
	case mcp.MethodSubscribe:
		if err = e.permitWatch(ctx, in, rec, msg); err == nil {
			err = e.subscribe(ctx, in, s, rec, msg)
		}
	case mcp.MethodUnsubscribe:
		in.Admit()
		err = e.unsubscribe(ctx, s, msg)
	case mcp.MethodInitialize:
		err = mcp.Errorf(mcp.KindInvalidRequest, "initialize cannot be part of a batch; send it alone")
	case mcp.MethodDiscover, mcp.MethodListen:
		err = mcp.Errorf(mcp.KindMethodNotFound, "the method %q does not exist in protocol version %s", m, rec.rules.Version)
	}
	o := resultOf(msg.ID, nil)
	if err != nil {
		o = failure(rec.rules, msg.ID, err)
	}
	op.End(&o.seen)
	return o, true
}

// isLocal reports whether the edge itself answers a method, if only to refuse it.
func isLocal(m mcp.Method) bool {
	switch m {
	case mcp.MethodPing, mcp.MethodSetLevel, mcp.MethodSubscribe, mcp.MethodUnsubscribe,
		mcp.MethodInitialize, mcp.MethodDiscover, mcp.MethodListen:
		return true
	}
	return false
}

// setLevel changes the session's log level (Logging, "Setting Log Level").
func (e *Era) setLevel(ctx context.Context, s *localSession, msg jsonrpc.Message) *mcp.Error {
	p, err := mcp.ParamsOf(msg)
	if err != nil {
		return mcp.AsError(err)
	}
	name, _ := jsonrpc.Unquote(p.Level)
	level, ok := mcp.ParseLogLevel(name)
	if !ok {
		return mcp.Errorf(mcp.KindInvalidParams,
			"level %.40q is no log level; use debug, info, notice, warning, error, critical, alert or emergency", name)
	}
	if _, err := e.update(ctx, s, state.Patch{LogLevel: &level}); err != nil {
		return err
	}
	e.notify(ctx, state.SessionEvent{Kind: state.SessionChanged, Session: s.id})
	return nil
}

// notified handles a notification. It never fails: what is not understood is ignored.
func (e *Era) notified(ctx context.Context, in *mcp.Incoming, s *localSession, rec *record, msg jsonrpc.Message) {
	ctx, op := e.observe(ctx, in, rec, rec.rules, msg)
	defer op.End(&telemetry.Outcome{})
	switch mcp.Method(msg.Method) {
	case mcp.NotifyInitialized:
		if !rec.Initialized {
			// Nothing waits for it: a session is served from the start (a SHOULD of the
			// specification).
			_, _ = e.update(ctx, s, state.Patch{Initialized: true})
		}
	case mcp.NotifyCancelled:
		e.cancelled(in, s, msg)
	case mcp.NotifyRootsChanged:
		e.notify(ctx, state.SessionEvent{Kind: state.RootsChanged, Session: s.id})
	}
}
