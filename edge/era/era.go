package era

import (
	"context"
	"encoding/json"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
)

// Describer describes the edge. Safe for concurrent use. A set is that of the caller; empty means the root.
type Describer interface {
	// Describe describes the edge, for the handshake and for discovery. It may wait for a caller's own lists.
	Describe(ctx context.Context, rules *revision.Rules, set string, p mcp.Principal) mcp.Description
	// ServerInfo returns Description.ServerInfo as Describe does, without waiting.
	ServerInfo(rules *revision.Rules, set string) json.RawMessage
}

// Dispatcher is the stage behind an era. Safe for concurrent use.
type Dispatcher interface {
	// Resolve looks up the object that a request names, and applies rules and scopes. An error is
	// the request's response, a *mcp.Error, and the only error that may request other credentials.
	// The target is never nil; beside an error it has the known part. Resolve may wait for a
	// caller's own lists. It is called once for a round, before anything is committed. The call's
	// params must not change afterwards.
	Resolve(ctx context.Context, rules *revision.Rules, call *mcp.Call) (*mcp.Target, error)
	// Call runs one round of a request: a list, call, read, get or completion. call.Target is the
	// result of Resolve for the round; if it is nil, Call resolves the round first. For
	// resources/subscribe, Call only runs the second stage of the decision. The sink gets all
	// events before Call returns. Errors are *mcp.Error. The end of ctx ends the round.
	Call(ctx context.Context, rules *revision.Rules, call *mcp.Call, sink mcp.Sink) (mcp.Reply, error)
	// Changes opens a feed for a caller in a set; empty means the root. A URI that cannot be watched is missing from the honoured filter,
	// without an error.
	Changes(ctx context.Context, set string, p mcp.Principal, f mcp.Filter) (mcp.Feed, error)
}

// Stateless serves messages of the era without sessions.
type Stateless interface {
	// Message serves one message. It ends the exchange before it returns.
	Message(ctx context.Context, in *mcp.Incoming, msg jsonrpc.Message, out mcp.Outgoing)
}

// Stateful serves the era with handshakes and sessions. Each method ends the exchange before it
// returns.
type Stateful interface {
	// Message serves one message.
	Message(ctx context.Context, in *mcp.Incoming, msg jsonrpc.Message, out mcp.Outgoing)
	// Batch serves an array of messages.
	Batch(ctx context.Context, in *mcp.Incoming, batch []jsonrpc.BatchEntry, out mcp.Outgoing)
	// Listen attaches the session's standalone stream, or resumes the one that in.LastEventID
	// names. It returns when the stream ends.
	Listen(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing)
	// End ends the session.
	End(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing)
}
