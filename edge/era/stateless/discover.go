package stateless

import (
	"context"
	"strconv"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// discover serves server/discover: it describes the server as the result of `initialize` does in
// the stateful era.
func (e *Era) discover(ctx context.Context, in *mcp.Incoming, msg jsonrpc.Message, rules *revision.Rules, params *mcp.Params, out mcp.Outgoing) {
	ctx, op := e.observe(ctx, in, msg, rules, params)
	d := e.server.Describe(ctx, rules, in.Set, in.Principal)
	body := append([]byte(nil), `{"supportedVersions":[`...)
	for i, v := range revision.Supported() {
		if i > 0 {
			body = append(body, ',')
		}
		body = jsonrpc.AppendString(body, v)
	}
	body = append(body, `],"capabilities":`...)
	body = append(body, d.Capabilities...)
	if d.Instructions != "" {
		body = append(body, `,"instructions":`...)
		body = jsonrpc.AppendString(body, d.Instructions)
	}
	body = append(body, `,"ttlMs":`...)
	body = strconv.AppendInt(body, d.TTL, 10)
	scope := "private"
	if d.Public {
		scope = "public"
	}
	body = append(body, `,"cacheScope":"`+scope+`","resultType":"complete","_meta":`...)
	body = appendMeta(body, d.ServerInfo, jsonrpc.ID{})
	body = append(body, '}')
	op.End(&telemetry.Outcome{})
	out.Respond(mcp.Response{Body: jsonrpc.AppendResult(nil, msg.ID, body), Modern: true})
}

// appendMeta renders the `_meta` of a result of the era's own: the server's info, and for a
// subscription its id.
func (e *Era) appendMeta(dst []byte, rules *revision.Rules, set string, subscription jsonrpc.ID) []byte {
	return appendMeta(dst, e.server.ServerInfo(rules, set), subscription)
}

func appendMeta(dst []byte, serverInfo []byte, subscription jsonrpc.ID) []byte {
	dst = append(dst, `{"`+mcp.MetaServerInfo+`":`...)
	dst = append(dst, serverInfo...)
	if !subscription.IsZero() {
		dst = append(dst, `,"`+mcp.MetaSubscriptionID+`":`...)
		dst = append(dst, subscription.Raw()...)
	}
	return append(dst, '}')
}
