package check

import (
	"context"
	"encoding/json"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/check/vet"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// prompts gets the listed prompts and an unknown one, and completes every argument.
func (p *prober) prompts(ctx context.Context, list []*pb.Prompt) {
	p.try(func() string {
		const what = "GetPrompt, an unknown prompt"
		return checkUnknown(p.findings, what, p.getPrompt(ctx, what, unknownName, nil))
	})
	for _, listed := range list[:min(len(list), maxTried)] {
		given := map[string]string{}
		for _, a := range listed.GetArguments() {
			given[a.GetName()] = "example:value" // valid as a URI, too
			p.completed(fmt.Sprintf("CompletePrompt %q, %s", listed.Name, a.GetName()), p.survey.Described.GetPrompts().GetCompletion(),
				func() (suggestions, error) {
					ctx, cancel := p.bounded(ctx)
					defer cancel()
					about := p.request(newCall(), 1)
					r, err := p.b.Prompts().CompletePrompt(p.shown(ctx, about), &pb.CompletePromptRequest{
						Name: listed.Name, ArgumentName: a.GetName(), Context: about})
					if len(r.GetValues()) > 0 {
						given[a.GetName()] = r.GetValues()[0]
					}
					return r, err
				})
		}
		p.try(func() string { return p.getListed(ctx, fmt.Sprintf("GetPrompt %q", listed.Name), listed.Name, given) })
	}
}

func (p *prober) getPrompt(ctx context.Context, what, name string, given map[string]string) outcome[pb.GetPromptResult] {
	ctx, cancel := p.working(ctx)
	defer cancel()
	about := p.request(newCall(), 1)
	stream, err := p.b.Prompts().GetPrompt(p.shown(ctx, about), &pb.GetPromptRequest{Name: name, Arguments: given, Context: about})
	if err != nil {
		p.status(ctx, what, err)
		return outcome[pb.GetPromptResult]{err: err}
	}
	return drain(ctx, p.findings, what, stream.Recv, (*pb.GetPromptResponse).GetResult)
}

func (p *prober) getListed(ctx context.Context, what, name string, given map[string]string) (ok string) {
	o := p.getPrompt(ctx, what, name, given)
	switch {
	case o.failure != nil:
		p.note("%s %s: a failure, %s: %.120s", what, formatArguments(given), o.failure.GetReason(), o.failure.GetMessage())
		return ""
	case o.required != nil:
		return what + ": asks the client first"
	case o.result == nil:
		if o.err != nil && !crashed(o.err) && status.Code(o.err) != codes.DeadlineExceeded {
			p.note("%s %s: %s", what, formatArguments(given), statusText(o.err))
		}
		return ""
	}
	for i, m := range o.result.GetMessages() {
		if m.GetRole() == pb.Role_ROLE_UNSPECIFIED {
			p.violation("%s: messages[%d] has no role: it is required", what, i)
		}
		p.block(fmt.Sprintf("%s: messages[%d]", what, i), m.GetContent())
	}
	if err := vet.Meta(o.result.GetMetaJson()); err != nil {
		p.violation("%s: the result: %v", what, err)
	}
	return fmt.Sprintf("%s: %d messages", what, len(o.result.GetMessages()))
}

// formatArguments formats the arguments of a prompt.
func formatArguments(given map[string]string) string {
	if len(given) == 0 {
		return "without arguments"
	}
	text, err := json.Marshal(given)
	if err != nil {
		return "with arguments that are not JSON"
	}
	return fmt.Sprintf("with %.200s", text)
}
