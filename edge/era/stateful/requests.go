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
func (e *Era) request(ctx context.Context, in *mcp.Incoming, s *held, rec *record, msg jsonrpc.Message, out mcp.Outgoing) {
	if o, ok := e.local(ctx, in, s, rec, msg); ok {
		respond(out, o)
		return
	}
	g := newGroup(ctx, e, s, rec, in, out)
	if err := g.add(msg); err != nil {
		e.refuse(ctx, in, out, rec.rules, msg, beginError(err))
		return
	}
	in.Admit()
	g.serve()
}

// beginError tells a client why a call could not begin.
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

// local serves what the edge answers itself. It returns false for what goes to dispatch.
func (e *Era) local(ctx context.Context, in *mcp.Incoming, s *held, rec *record, msg jsonrpc.Message) (outcome, bool) {
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
		in.Admit() // a slow backend must not hold back a ping
		err = e.subscribe(ctx, in, s, rec, msg)
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

// isLocal says whether the edge answers a method itself, if only to refuse it.
func isLocal(m mcp.Method) bool {
	switch m {
	case mcp.MethodPing, mcp.MethodSetLevel, mcp.MethodSubscribe, mcp.MethodUnsubscribe,
		mcp.MethodInitialize, mcp.MethodDiscover, mcp.MethodListen:
		return true
	}
	return false
}

// setLevel changes the session's log level (Logging, "Setting Log Level").
func (e *Era) setLevel(ctx context.Context, s *held, msg jsonrpc.Message) *mcp.Error {
	p, err := mcp.ParseParams(mcp.MethodSetLevel, msg.Params)
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
	e.ring(ctx, state.Bell{Kind: state.BellChanged, Session: s.id})
	return nil
}

// notified takes a notification. None is ever refused: what is not understood is ignored.
func (e *Era) notified(ctx context.Context, in *mcp.Incoming, s *held, rec *record, msg jsonrpc.Message) {
	ctx, op := e.observe(ctx, in, rec, rec.rules, msg)
	defer op.End(&telemetry.Outcome{})
	switch mcp.Method(msg.Method) {
	case mcp.NotifyInitialized:
		if !rec.Initialized {
			// Nothing waits for it: a session is served from the start (the specification's SHOULD).
			_, _ = e.update(ctx, s, state.Patch{Initialized: true})
		}
	case mcp.NotifyCancelled:
		e.cancelled(ctx, in, s, msg)
	case mcp.NotifyRootsChanged:
		e.ring(ctx, state.Bell{Kind: state.BellRoots, Session: s.id})
	}
}
