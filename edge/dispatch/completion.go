package dispatch

import (
	"context"
	"maps"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/translate"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// complete runs completion/complete (MCP, "Completion"). For a backend without completion, the
// result is empty.
func (r *round) complete(ctx context.Context) (mcp.Reply, error) {
	if r.named.Completion.Prompt {
		return r.completePrompt(ctx, r.named.Completion)
	}
	return r.completeTemplate(ctx, r.named.Completion)
}

func (r *round) completePrompt(ctx context.Context, c *translate.Completion) (mcp.Reply, error) {
	p := r.named.Prompt
	if err := r.authorize(ctx); err != nil {
		return mcp.Reply{}, err
	}
	silent, err := r.curateCompletion(p.Arguments)
	if err != nil {
		return mcp.Reply{}, err
	}
	if silent || !r.named.Completes {
		return suggestions{}.render(r)
	}
	about, err := translate.Context(r.call)
	if err != nil {
		return mcp.Reply{}, err
	}
	r.addClaims(about, p.Owner)
	ctx, end, err := r.begin(ctx, p.Owner, p.Proto.GetName())
	if err != nil {
		return mcp.Reply{}, err
	}
	defer end()
	if err := r.await(ctx, nil); err != nil {
		return mcp.Reply{}, err
	}
	out, err := p.Owner.Prompts().CompletePrompt(ctx, &pb.CompletePromptRequest{
		Name: p.Proto.GetName(), ArgumentName: c.Argument, ArgumentValue: c.Value, ContextArguments: c.Arguments, Context: about,
	})
	if err != nil {
		return r.noSuggestion(ctx, err)
	}
	r.received(out)
	return r.finish(suggestions{out.GetValues(), out.Total, out.GetHasMore()})
}

func (r *round) completeTemplate(ctx context.Context, c *translate.Completion) (mcp.Reply, error) {
	t := r.named.Template
	if err := r.authorize(ctx); err != nil {
		return mcp.Reply{}, err
	}
	silent, err := r.pinVariables(c)
	if err != nil {
		return mcp.Reply{}, err
	}
	if t == nil || silent || !r.named.Completes { // a plain URI has no variables
		return suggestions{}.render(r)
	}
	about, err := translate.Context(r.call)
	if err != nil {
		return mcp.Reply{}, err
	}
	r.addClaims(about, t.Owner)
	ctx, end, err := r.begin(ctx, t.Owner, t.Text)
	if err != nil {
		return mcp.Reply{}, err
	}
	defer end()
	if err := r.await(ctx, nil); err != nil {
		return mcp.Reply{}, err
	}
	out, err := t.Owner.Resources().CompleteResourceTemplate(ctx, &pb.CompleteResourceTemplateRequest{
		UriTemplate: t.Text, ArgumentName: c.Argument, ArgumentValue: c.Value, ContextArguments: c.Arguments, Context: about,
	})
	if err != nil {
		return r.noSuggestion(ctx, err)
	}
	r.received(out)
	given := out.GetValues()[:min(len(out.GetValues()), maxSuggestions)]
	values := r.named.ShownValues(slices.Clone(given))
	if len(values) < len(given) {
		out.Total = nil // It counts hidden values.
	}
	return r.finish(suggestions{values, out.Total, out.GetHasMore() || len(given) < len(out.GetValues())})
}

// pinVariables adds the pinned variables of a template to the context of its completion. silent is true
// if the completed variable is pinned, so that there are no suggestions.
func (r *round) pinVariables(c *translate.Completion) (silent bool, err error) {
	pinned := r.named.Pinned()
	for name := range pinned {
		for given := range c.Arguments {
			if overlay.SameMember(given, name) {
				return false, errRefusedMember
			}
		}
		silent = silent || overlay.SameMember(c.Argument, name)
	}
	if silent || len(pinned) == 0 {
		return silent, nil
	}
	if c.Arguments == nil {
		c.Arguments = make(map[string]string, len(pinned))
	}
	maps.Copy(c.Arguments, pinned)
	return false, nil
}

// maxSuggestions bounds the suggested values that are compared with the catalog. The result has
// fewer, as the specification requires.
const maxSuggestions = 1000

// noSuggestion returns an empty result if err says that the backend does not implement completion.
func (r *round) noSuggestion(ctx context.Context, err error) (mcp.Reply, error) {
	if status.Code(err) == codes.Unimplemented {
		r.received(nil) // An absent result needs no permit the next time.
		return suggestions{}.render(r)
	}
	return mcp.Reply{}, r.status(ctx, err)
}
