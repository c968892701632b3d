package stateful

import (
	"context"
	"time"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// outcome is how a request ended: one response, or silence for a cancelled one.
type outcome struct {
	body []byte // nil: no response
	kind mcp.Kind
	// retryAfter is how long an error says to wait; 0: it does not.
	retryAfter time.Duration
	// challenge says which credentials the request takes; nil: none are asked for.
	challenge *mcp.Challenge
	// seen is what telemetry is told: of an error its code and message, of a result whether it says isError.
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
		seen: telemetry.Outcome{Kind: me.Kind, Code: code, Message: me.Message, Cause: me.Cause()},
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

// refuse ends an exchange whose message was not served. Where no headers exist, the peer of a
// symmetric transport would take an answer to what is no request for a new message: it gets none.
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

// refused is the outcome of a request that was not begun. rec is nil where its session is not known.
func (e *Era) refused(ctx context.Context, in *mcp.Incoming, rec *record, rules *revision.Rules, msg jsonrpc.Message, err *mcp.Error) outcome {
	o := failure(rules, msg.ID, err)
	_, op := e.observe(ctx, in, rec, rules, msg)
	op.End(&o.seen)
	return o
}

// toolError is a tool result that tells a model what went wrong.
func toolError(text string) []byte {
	b := append([]byte(nil), `{"content":[{"type":"text","text":`...)
	b = jsonrpc.AppendString(b, text)
	return append(b, `}],"isError":true}`...)
}
