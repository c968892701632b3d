package dispatch

import (
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/translate"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// inputRequired renders what the backend wants to ask, within the contract's bounds. When the client
// lacks a capability for it, or its revision the words, the error is KindMissingCapability: it has a
// code of its own in the stateless era, is a result for a tool of the other, and else internal.
func (r *round) inputRequired(in *pb.InputRequired) (mcp.Reply, error) {
	out, err := translate.InputRequired(r.rules, in)
	if err != nil {
		if e := mcp.AsError(err); e.Kind != mcp.KindMissingCapability {
			return mcp.Reply{}, r.blame(e)
		}
	}
	// All that is missing is named together, so this error goes before the first request's.
	if missing := translate.MissingCapability(r.rules, r.call.Client.Capabilities, in); missing != nil {
		return mcp.Reply{}, missing
	}
	if err != nil {
		return mcp.Reply{}, err
	}
	if len(out.Requests) > 0 || len(out.State) > 0 {
		if err := r.askAgain(out); err != nil {
			return mcp.Reply{}, err
		}
	}
	return mcp.Reply{Input: out}, nil
}
