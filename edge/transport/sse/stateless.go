package sse

import (
	"context"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Stateless stands where a router has the stateless era, and refuses: that era does not exist on this
// transport.
type Stateless struct{}

// Message refuses one message. The code is one that no client takes for an answer of the stateless era.
func (Stateless) Message(_ context.Context, _ *mcp.Incoming, msg jsonrpc.Message, out mcp.Outgoing) {
	var id jsonrpc.ID
	if msg.Kind == jsonrpc.Request {
		id = msg.ID
	}
	out.Respond(mcp.Response{
		Kind: mcp.KindInvalidRequest,
		Body: jsonrpc.AppendError(nil, id, codeInvalidRequest,
			"HTTP+SSE serves the revisions with a handshake only: send initialize, or use Streamable HTTP for requests of a stateless revision", nil),
	})
}

const codeInvalidRequest = -32600
