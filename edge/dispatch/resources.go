package dispatch

import (
	"context"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/translate"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// readResource runs resources/read (MCP, "Resources", "Reading Resources"), and reads that were
// made through mcp.ToolReadResource. The latter have the same errors, but the result of a tool.
func (r *round) readResource(ctx context.Context) (mcp.Reply, error) {
	found, owner, uri := r.named.URI, r.named.Backend, r.call.Params.Target
	if err := r.authorize(ctx); err != nil {
		return mcp.Reply{}, err
	}
	req, err := translate.ReadResourceRequest(r.call)
	if err != nil {
		return mcp.Reply{}, err
	}
	req.Uri = found.Sent
	r.addClaims(req.Context, owner)
	ctx, end, err := r.begin(ctx, owner, found.Sent)
	if err != nil {
		return mcp.Reply{}, err
	}
	defer end()
	stream, err := owner.Resources().ReadResource(ctx, req)
	if err != nil {
		return mcp.Reply{}, r.status(ctx, err)
	}
	out, err := receive[pb.ReadResourceResponse, *pb.ReadResourceResponse, *pb.ReadResourceResult](ctx, r, stream)
	if err != nil {
		return mcp.Reply{}, err
	}
	if out.input != nil {
		return r.inputRequired(out.input)
	}
	r.restrictHint(out.result.GetCache())
	had := len(out.result.GetContents())
	if out.result.Contents = r.named.ShownContents(out.result.Contents); len(out.result.Contents) == 0 && had > 0 {
		return mcp.Reply{}, r.named.Unknown()
	}
	found.Respell(out.result.GetContents(), uri)
	return r.finish(resourceResult{out.result})
}
