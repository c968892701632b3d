package era

import (
	"context"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
)

// Dispatcher is what an era needs of dispatch. Safe for concurrent use.
type Dispatcher interface {
	// Describe says what the edge is and can do, for the handshake and for discovery.
	Describe(ctx context.Context, rules *revision.Rules, p mcp.Principal) mcp.Description
	// Call runs one round of a request: a list, call, read, get or completion. Events go to the sink
	// before it returns. Errors are *mcp.Error. The round ends early when ctx does.
	Call(ctx context.Context, rules *revision.Rules, call *mcp.Call, sink mcp.Sink) (mcp.Reply, error)
	// Permit says whether a request may be made, as far as that is decided before anything is done: an error is one with
	// which Call would end. nil: it may, or what it names does not exist, or is to be taken for that. For
	// resources/subscribe the params name one resource.
	Permit(ctx context.Context, rules *revision.Rules, call *mcp.Call) error
	// Challenges says whether Permit may ask for other credentials.
	Challenges() bool
	// Repeatable says whether a dispatched call may be run again when its outcome was lost.
	Repeatable(call *mcp.Call) bool
	// Served names the backend that serves the tool or prompt that the call is about, as far as is known
	// without asking anybody; false: none does, or the call is about something else.
	Served(call *mcp.Call) (backend string, ok bool)
	// Changes opens a feed. What cannot be watched is missing from what the feed honours; it is no error.
	Changes(ctx context.Context, p mcp.Principal, f mcp.Filter) (mcp.Feed, error)
}

// Stateless serves messages of the era without sessions.
type Stateless interface {
	// Message serves one message. It ends the exchange before it returns.
	Message(ctx context.Context, in *mcp.Incoming, msg jsonrpc.Message, out mcp.Outgoing)
}

// Stateful serves the era of handshakes and sessions. Each method ends the exchange before it returns.
type Stateful interface {
	// Message serves one message.
	Message(ctx context.Context, in *mcp.Incoming, msg jsonrpc.Message, out mcp.Outgoing)
	// Batch serves an array of messages.
	Batch(ctx context.Context, in *mcp.Incoming, batch []jsonrpc.BatchEntry, out mcp.Outgoing)
	// Listen attaches the session's standalone stream, or resumes the one that in.LastEventID names,
	// and stays until it ends.
	Listen(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing)
	// End ends the session.
	End(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing)
}
