package admin

import (
	"context"
	"encoding/json"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Server receives the exchanges of a transport. Each method ends the exchange before it returns.
type Server interface {
	Post(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing)
	End(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing)
}

// unary stores a server's response. It has no stream: a request for neither progress nor
// messages needs none.
type unary struct {
	response *mcp.Response
	accepted bool
}

var _ mcp.Outgoing = (*unary)(nil)

// Session implements mcp.Outgoing.
func (x *unary) Session(string) {}

// Respond implements mcp.Outgoing.
func (x *unary) Respond(r mcp.Response) { x.response = &r }

// Accept implements mcp.Outgoing.
func (x *unary) Accept() { x.accepted = true }

// Open implements mcp.Outgoing.
func (x *unary) Open() (mcp.Stream, error) {
	return nil, errors.New("a unary call has no stream")
}

// result returns the outcome of a request.
func (x *unary) result(ctx context.Context) (json.RawMessage, error) {
	switch {
	case x.response == nil:
		if err := ctx.Err(); err != nil {
			return nil, status.FromContextError(err).Err()
		}
		return nil, status.Error(codes.Internal, "the request was not answered")
	case x.response.Kind != mcp.KindNone:
		return nil, failed(x.response)
	}
	result, ok := jsonrpc.Member(x.response.Body, "result")
	if !ok {
		return nil, status.Error(codes.Internal, "the answer holds no result")
	}
	return result, nil
}
