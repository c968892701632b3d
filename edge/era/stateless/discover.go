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
	body := append([]byte(`{"supportedVersions":`), arrayOf(revision.Supported())...)
	body = jsonrpc.AppendMember(body, "capabilities", d.Capabilities)
	if d.Instructions != "" {
		body = jsonrpc.AppendString(append(body, `,"instructions":`...), d.Instructions)
	}
	body = strconv.AppendInt(append(body, `,"ttlMs":`...), d.TTL, 10)
	scope := "private"
	if d.Public {
		scope = "public"
	}
	body = append(body, `,"cacheScope":"`+scope+`","resultType":"complete"`...)
	body = append(appendMeta(body, d.ServerInfo, jsonrpc.ID{}), '}')
	op.End(&telemetry.Outcome{})
	out.Respond(mcp.Response{Body: jsonrpc.AppendResult(nil, msg.ID, body), Modern: true})
}

// appendMeta appends the `_meta` of a result of the era's own: the server's info, and for a
// subscription its id.
func appendMeta(dst []byte, serverInfo []byte, subscription jsonrpc.ID) []byte {
	meta := jsonrpc.AppendMember([]byte{'{'}, mcp.MetaServerInfo, serverInfo)
	if !subscription.IsZero() {
		meta = jsonrpc.AppendMember(meta, mcp.MetaSubscriptionID, []byte(subscription.Raw()))
	}
	return jsonrpc.AppendMember(dst, "_meta", append(meta, '}'))
}
