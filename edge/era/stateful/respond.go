package stateful

import (
	"context"
	"time"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// outcome is how a request ended: with one response, or without one if it was cancelled.
type outcome struct {
	body []byte // nil: no response
	kind mcp.Kind
	// retryAfter is how long to wait according to an error. 0 means that it does not say.
	retryAfter time.Duration
	// challenge says which credentials the request needs. nil asks for none.
	challenge *mcp.Challenge
	// seen is what telemetry gets: the code and message of an error, or whether a result says
	// isError.
	seen telemetry.Outcome
}

func resultOf(id jsonrpc.ID, result []byte) outcome {
	return outcome{body: jsonrpc.AppendResult(make([]byte, 0, len(result)+len(id.Raw())+40), id, result)}
}

// failure renders an error.
func failure(rules *revision.Rules, id jsonrpc.ID, err error) outcome {
	me := mcp.AsError(err)
	code := rules.Code(me.Kind)
	return outcome{
		body: jsonrpc.AppendError(nil, id, code, me.Message, me.Data),
		kind: me.Kind, retryAfter: me.RetryAfter, challenge: me.Challenge,
		seen: telemetry.Outcome{Kind: me.Kind, Code: code, Message: me.Message, Reason: me.Reason, Cause: me.Cause()},
	}
}

// respond ends an exchange with an outcome.
func respond(out mcp.Outgoing, o outcome) {
	if o.body == nil {
		out.Accept()
		return
	}
	out.Respond(mcp.Response{Body: o.body, Owned: true, Kind: o.kind, RetryAfter: o.retryAfter, Challenge: o.challenge})
}

// refuse ends an exchange whose message was not served. On a symmetric transport without headers,
// the peer would take the answer to anything but a request for a new message, so it gets none.
func (e *Era) refuse(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing, rules *revision.Rules, msg jsonrpc.Message, err *mcp.Error) {
	switch {
	case msg.Kind == jsonrpc.Request:
		respond(out, e.refused(ctx, in, nil, rules, msg, err))
	case in.Header == nil && msg.Kind != 0:
		out.Accept()
	default:
		respond(out, failure(rules, jsonrpc.ID{}, err))
	}
}

// refused returns the outcome of a request that did not begin. rec is nil if its session is not
// known.
func (e *Era) refused(ctx context.Context, in *mcp.Incoming, rec *record, rules *revision.Rules, msg jsonrpc.Message, err *mcp.Error) outcome {
	o := failure(rules, msg.ID, err)
	_, op := e.observe(ctx, in, rec, rules, msg)
	op.End(&o.seen)
	return o
}

// toolError returns a tool result that says what went wrong, for a model.
func toolError(text string) []byte {
	b := append([]byte(nil), `{"content":[{"type":"text","text":`...)
	b = jsonrpc.AppendString(b, text)
	return append(b, `}],"isError":true}`...)
}
