package stateful

import (
	"context"
	"errors"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

// request serves one request of a session, other than initialize.
func (e *Era) request(ctx context.Context, in *mcp.Incoming, s *held, rec *record, msg jsonrpc.Message, out mcp.Outgoing) {
	if o, ok := e.local(ctx, in, s, rec, msg); ok {
		respond(out, o)
		return
	}
	g := newGroup(e, s, rec, in.Principal)
	if err := g.add(ctx, msg); err != nil {
		e.refuse(in, out, rec.rules, msg, beginError(err))
		return
	}
	in.Admit()
	g.start()
	g.serve(ctx, out)
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
	var err *mcp.Error
	switch m := mcp.Method(msg.Method); m {
	case mcp.MethodPing:
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
	default:
		return outcome{}, false
	}
	if err != nil {
		return e.failure(rec.rules, msg.ID, err), true
	}
	return resultOf(msg.ID, nil), true
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
func (e *Era) notified(ctx context.Context, s *held, rec *record, msg jsonrpc.Message) {
	switch mcp.Method(msg.Method) {
	case mcp.NotifyInitialized:
		if !rec.Initialized {
			// Nothing waits for it: a session is served from the start (the specification's SHOULD).
			_, _ = e.update(ctx, s, state.Patch{Initialized: true})
		}
	case mcp.NotifyCancelled:
		e.cancelled(ctx, s, msg)
	case mcp.NotifyRootsChanged:
		e.ring(ctx, state.Bell{Kind: state.BellRoots, Session: s.id})
	}
}
