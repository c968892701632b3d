package dispatch

import (
	"context"
	"strings"

	"github.com/mcpedge/mcpedge/edge/catalog"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/translate"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// getPrompt runs prompts/get (MCP, "Prompts", "Getting a Prompt").
func (r *round) getPrompt(ctx context.Context) (mcp.Reply, error) {
	p := r.named.Prompt
	if err := r.authorize(ctx); err != nil {
		return mcp.Reply{}, err
	}
	if args := r.call.Params.Arguments; len(args) > 0 {
		if err := r.survey("params.arguments", args); err != nil {
			return mcp.Reply{}, err
		}
	}
	req, err := translate.GetPromptRequest(r.call, p.Proto.GetName())
	if err != nil {
		return mcp.Reply{}, err
	}
	if lacking := p.Lacking(req.GetArguments()); len(lacking) > 0 {
		return mcp.Reply{}, mcp.Errorf(mcp.KindInvalidParams, "prompt %q needs the arguments: %s", catalog.Clip(p.ShownName), strings.Join(lacking, ", "))
	}
	r.addClaims(req.Context, p.Owner)
	ctx, end, err := r.begin(ctx, p.Owner, p.Proto.GetName())
	if err != nil {
		return mcp.Reply{}, err
	}
	defer end()
	stream, err := p.Owner.Prompts().GetPrompt(ctx, req)
	if err != nil {
		return mcp.Reply{}, r.status(ctx, err)
	}
	out, err := receive[pb.GetPromptResponse, *pb.GetPromptResponse, *pb.GetPromptResult](ctx, r, stream)
	if err != nil {
		return mcp.Reply{}, err
	}
	if out.input != nil {
		return r.inputRequired(out.input)
	}
	return r.finish(promptResult{out.result})
}
