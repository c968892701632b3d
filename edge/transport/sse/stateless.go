package sse

import (
	"context"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Stateless replaces the stateless era in a router and refuses its messages: this transport does
// not have that era.
type Stateless struct{}

// Message refuses one message, with a code that no client takes for a response of the stateless
// era.
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
