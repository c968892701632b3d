package stateful

import (
	"context"

	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// response is the response to a request, or nothing if the request was cancelled: then it has no
// body.
type response struct {
	mcp.Response
	// outcome is the outcome in telemetry: the code and message of an error, or whether a result
	// has isError.
	outcome telemetry.Outcome
}

func resultOf(id jsonrpc.ID, result []byte) response {
	body := jsonrpc.AppendResult(make([]byte, 0, len(result)+len(id.Raw())+40), id, result)
	return response{Response: mcp.Response{Body: body, Owned: true}}
}

// failure renders an error.
func failure(rules *revision.Rules, id jsonrpc.ID, err error) response {
	r, outcome := era.Failure(rules, id, err)
	return response{r, outcome}
}

// respond ends an exchange with a response.
func respond(out mcp.Outgoing, r response) {
	if r.Body == nil {
		out.Accept()
		return
	}
	out.Respond(r.Response)
}

// refuse ends an exchange whose message was not served. rec is nil if its session is unknown. On a
// symmetric transport without headers, only requests are answered: the peer would take any other
// answer for a new message.
func (e *Era) refuse(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing, rec *record, msg jsonrpc.Message, err *mcp.Error) {
	rules := rulesOf(in, rec)
	switch {
	case msg.Kind == jsonrpc.Request:
		respond(out, e.refused(ctx, in, nil, rules, msg, err))
	case in.Header == nil && msg.Kind != 0:
		out.Accept()
	default:
		respond(out, failure(rules, jsonrpc.ID{}, err))
	}
}

// rulesOf returns the rules of a session; rec is nil if it is unknown.
func rulesOf(in *mcp.Incoming, rec *record) *revision.Rules {
	if rec == nil {
		return era.Assumed(in)
	}
	return rec.rules
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
