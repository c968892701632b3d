package stateless

import (
	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// cancelled serves notifications/cancelled on a connection that carries many requests (Patterns,
// "Cancellation"): nothing more is written for the request. It ignores requests that are not in
// flight.
func (e *Era) cancelled(in *mcp.Incoming, msg jsonrpc.Message) {
	id, ok := era.CancelledID(msg)
	if !ok || !in.Conn.Cancel(id) {
		return
	}
	reason, _ := jsonrpc.Member(msg.Params, "reason")
	text, _ := jsonrpc.Unquote(reason)
	e.opts.Logger.Debug("request cancelled", "id", id.String(), "reason", text)
}

// cancellable is the Outgoing of a request that may be cancelled by its id.
type cancellable struct {
	mcp.Outgoing
	flight *mcp.InFlight
}

// Respond frees the id before the client can receive the response. After a cancellation it writes
// nothing.
func (c *cancellable) Respond(r mcp.Response) {
	if c.flight.Finish() {
		c.Outgoing.Respond(r)
		return
	}
	c.Outgoing.Accept()
}
