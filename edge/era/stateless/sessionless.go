package stateless

import (
	"context"
	"time"

	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// sessionless serves messages of the revisions with sessions that name no session, each by itself.
// Their clients' capabilities are unknown, so that clients get no requests. The revision is that of
// the version header. Results and errors are those of a session.
type sessionless struct{ e *Era }

var _ era.Stateless = sessionless{}

// Sessionless returns the part of the era that serves requests and notifications of the revisions with sessions over HTTP.
func (e *Era) Sessionless() era.Stateless { return sessionless{e} }

// Message implements era.Stateless. A notification has no effect, because it concerns a session or
// a request of one.
func (s sessionless) Message(ctx context.Context, in *mcp.Incoming, msg jsonrpc.Message, out mcp.Outgoing) {
	rules := era.Assumed(in)
	if msg.Kind != jsonrpc.Request {
		_, op := s.e.observe(ctx, in, msg, rules, nil)
		op.End(&telemetry.Outcome{})
		out.Accept()
		return
	}
	call := era.NewCall(in, msg.ID, mcp.Method(msg.Method))
	call.ID, call.Round, call.Memory = mcp.NewCallID(), 1, in.Memory
	call.Client.Capabilities.Unknown = true
	err := s.admit(in, rules, call, msg)
	if err == nil && call.Method != mcp.MethodPing {
		s.call(ctx, in, rules, call, out)
		return
	}
	_, op := s.e.observe(ctx, in, msg, rules, &call.Params)
	if err != nil {
		refuseLegacy(&op, out, rules, msg.ID, err)
		return
	}
	op.End(&telemetry.Outcome{})
	out.Respond(mcp.Response{Body: jsonrpc.AppendResult(nil, msg.ID, nil), Owned: true})
}

// admit returns the error for a request that cannot be served without a session, or for which there
// is no memory. It parses the params.
func (s sessionless) admit(in *mcp.Incoming, rules *revision.Rules, call *mcp.Call, msg jsonrpc.Message) error {
	if call.Method == mcp.MethodPing { // Its params, if any, are ignored, and it needs no memory.
		return nil
	}
	if err := in.Memory.Check(); err != nil {
		return mcp.Overloaded(err)
	}
	switch call.Method {
	case mcp.MethodSetLevel, mcp.MethodSubscribe, mcp.MethodUnsubscribe:
		return needsSession(string(call.Method))
	case mcp.MethodDiscover, mcp.MethodListen:
		return mcp.Errorf(mcp.KindMethodNotFound, "the method %q does not exist in protocol version %s", call.Method, rules.Version)
	case mcp.MethodTasksGet, mcp.MethodTasksList, mcp.MethodTasksResult, mcp.MethodTasksCancel:
		if rules.Tasks {
			return needsSession(string(call.Method))
		}
	}
	if err := call.Params.Parse(call.Method, msg.Params, msg.Outline); err != nil {
		return err
	}
	if call.Params.More().Task != nil && rules.Tasks {
		return needsSession("a call with params.task")
	}
	return nil
}

// needsSession returns the error of a request that only a session can serve.
func needsSession(what string) *mcp.Error {
	return mcp.Errorf(mcp.KindSessionRequired,
		"%s needs a session, and the request names none: send initialize, then the Mcp-Session-Id of its response with every request", what)
}

// refuseLegacy ends an exchange, and its operation, with an error. The error of needsSession is sent
// in-band, like that of a client that lacks a capability. Clients send some of these requests right
// after they have connected, and interpret the status 400 as a failure of the whole connection, or
// drop the text.
func refuseLegacy(op *telemetry.Operation, out mcp.Outgoing, rules *revision.Rules, id jsonrpc.ID, err error) {
	response := era.Failure(rules, id, err)
	op.End(&response.Outcome)
	if response.Kind == mcp.KindSessionRequired {
		response.Kind = mcp.KindMissingCapability
	}
	out.Respond(response.Response)
}

// call runs a request to its end. Without a session there is only one response. If the client
// disconnects, ctx ends, which ends the backend's work.
func (s sessionless) call(ctx context.Context, in *mcp.Incoming, rules *revision.Rules, call *mcp.Call, out mcp.Outgoing) {
	e := s.e
	e.calls.Add(1)
	defer e.calls.Add(-1)
	in.Admit()
	ctx, op := e.observeCall(ctx, in.Header, rules, call, &sealed{})
	way := &response{e: e, out: out, legacy: true}
	defer way.stop()
	target, err := e.dispatch.Resolve(ctx, rules, call)
	call.Target = target
	op.Found(call.Method, &call.Params, target.Backend, target.Known)
	var reply mcp.Reply
	for until := time.Now().Add(e.opts.CallLifetime); err == nil; {
		reply, err = e.dispatch.Call(ctx, rules, call, way)
		if err != nil || reply.Input == nil {
			break
		}
		next := *call
		err = s.nextRound(ctx, &next, way, reply.Input, until)
		next.Target, call = call.Target, &next
		if err == nil {
			next.Target, err = e.dispatch.Resolve(ctx, rules, &next)
		}
	}
	e.end(ctx, rules, call, way, &op, &reply, err)
}

// minPause is the minimum pause before a round that a backend asked to repeat, as in a session.
const minPause = 100 * time.Millisecond

// nextRound makes a call its next round, after a round that needs no answer of the client.
func (s sessionless) nextRound(ctx context.Context, call *mcp.Call, way *response, in *mcp.InputRequired, until time.Time) error {
	if len(in.Requests) > 0 { // Dispatch refuses requests to a client whose capabilities are unknown.
		return mcp.Errorf(mcp.KindMissingCapability, "the call asks its client, which needs a session, and the request names none")
	}
	pause := max(in.RetryAfter, minPause)
	if time.Now().Add(pause).After(until) {
		s.e.opts.Telemetry.Hit(telemetry.BoundLifetime)
		return mcp.Errorf(mcp.KindTimeout, "the call did not end within %s", s.e.opts.CallLifetime)
	}
	call.Begun, call.State, call.Responses, call.Backend = true, in.State, nil, way.backend
	if !era.Pause(ctx, pause) {
		return errCancelled
	}
	return nil
}
