package stateful

import (
	"context"
	"time"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// response is the response to a request, or nothing if the request was cancelled.
type response struct {
	body []byte // nil means no response
	kind mcp.Kind
	// retryAfter is the retry delay of an error. 0 means that it has none.
	retryAfter time.Duration
	// challenge requests other credentials. nil requests none.
	challenge *mcp.Challenge
	// outcome is the outcome in telemetry: the code and message of an error, or whether a result
	// has isError.
	outcome telemetry.Outcome
}

func resultOf(id jsonrpc.ID, result []byte) response {
	return response{body: jsonrpc.AppendResult(make([]byte, 0, len(result)+len(id.Raw())+40), id, result)}
}

// failure renders an error.
func failure(rules *revision.Rules, id jsonrpc.ID, err error) response {
	me := mcp.AsError(err)
	code := rules.Code(me.Kind)
	return response{
		body: jsonrpc.AppendError(nil, id, code, me.Message, me.Data),
		kind: me.Kind, retryAfter: me.RetryAfter, challenge: me.Challenge,
		outcome: telemetry.Outcome{Kind: me.Kind, Code: code, Message: me.Message, Reason: me.Reason, Cause: me.Cause()},
	}
}

// respond ends an exchange with a response.
func respond(out mcp.Outgoing, o response) {
	if o.body == nil {
		out.Accept()
		return
	}
	out.Respond(mcp.Response{Body: o.body, Owned: true, Kind: o.kind, RetryAfter: o.retryAfter, Challenge: o.challenge})
}

// refuse ends an exchange whose message was not served. On a symmetric transport without headers,
// only requests are answered: the peer would take any other answer for a new message.
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

// refused returns the response to a request that did not begin. rec is nil if its session is
// unknown.
func (e *Era) refused(ctx context.Context, in *mcp.Incoming, rec *record, rules *revision.Rules, msg jsonrpc.Message, err *mcp.Error) response {
	o := failure(rules, msg.ID, err)
	_, op := e.observe(ctx, in, rec, rules, msg)
	op.End(&o.outcome)
	return o
}

// toolError returns a tool result with an error text for a model.
func toolError(text string) []byte {
	b := append([]byte(nil), `{"content":[{"type":"text","text":`...)
	b = jsonrpc.AppendString(b, text)
	return append(b, `}],"isError":true}`...)
}
