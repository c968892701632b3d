package dispatch

import (
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/redact"
	"github.com/mcpedge/mcpedge/edge/translate"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// inputRequired renders the input that a backend requests, within the contract's bounds. If the
// client lacks a capability for it, or its revision cannot express it, the error is of kind
// KindMissingCapability: the stateless era has an error code for it; in the stateful era it is a
// tool result, or else an internal error.
func (r *round) inputRequired(in *pb.InputRequired) (mcp.Reply, error) {
	r.masks(redact.Questions).Message(in)
	out, err := translate.InputRequired(r.rules, in)
	if err != nil {
		if e := mcp.AsError(err); e.Kind != mcp.KindMissingCapability {
			return mcp.Reply{}, r.nameBackend(e)
		}
	}
	// All missing capabilities are named together, so this error precedes that of the first
	// request.
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
		out.State = r.nextConsent(r.sendsState(out)).prepend(out.State)
	}
	return mcp.Reply{Input: out}, nil
}
