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
	// Resolve looks up what a request names, and decides whether the caller may make it as far as rules and scopes say: an error is the
	// request's, a *mcp.Error, and the only one by which it asks for other credentials. The target is what is known of it, also beside an
	// error, and never nil. It may wait for a caller's own lists. It is called once for a round, before anything is committed, with a call
	// whose params are not changed afterwards.
	Resolve(ctx context.Context, rules *revision.Rules, call *mcp.Call) (*mcp.Target, error)
	// Call runs one round of a request: a list, call, read, get or completion. call.Target is what Resolve returned for the round; nil: Call
	// resolves it first. For resources/subscribe it only has the second stage of the decision. Events go to the sink
	// before it returns. Errors are *mcp.Error. The round ends early when ctx does.
	Call(ctx context.Context, rules *revision.Rules, call *mcp.Call, sink mcp.Sink) (mcp.Reply, error)
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
