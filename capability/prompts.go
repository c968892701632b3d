package capability

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// PromptOutput is the result type of a prompt's handler. A string is one message of the user.
// Messages get the description of the prompt. A *PromptResult is the complete result.
type PromptOutput interface {
	string | *PromptMessage | []*PromptMessage | *PromptResult
}

type promptHandler func(ctx context.Context, c *Call, arguments map[string]string) (*PromptResult, error)

type prompt struct {
	listed     *Prompt // immutable after registration
	handler    promptHandler
	completers map[string]Completer
}

// AddPrompt adds a prompt. It replaces a prompt of the same name. The handler runs only if all
// required arguments are present and none is unknown. An error of the handler becomes a protocol error: a *Failure
// keeps its reason, a gRPC status its code, and others become INTERNAL. The Prompt is copied.
// AddPrompt panics if the name is empty, if the handler is nil, or if a suggestion is for an unknown
// argument.
func AddPrompt[Out PromptOutput](s *Server, p *Prompt,
	handler func(ctx context.Context, c *Call, arguments map[string]string) (Out, error), options ...CompleteOption) {
	if p.GetName() == "" {
		panic("capability: a prompt needs a name")
	}
	mustHandle("prompt", p.GetName(), handler == nil)
	listed := proto.CloneOf(p)
	completers := completersOf(options)
	known := map[string]bool{}
	for _, a := range listed.GetArguments() {
		known[a.GetName()] = true
	}
	for argument := range completers {
		if !known[argument] {
			panic(fmt.Sprintf("capability: prompt %q has no argument %q to complete", p.GetName(), argument))
		}
	}
	s.prompts.put(listed.GetName(), &prompt{listed: listed, completers: completers,
		handler: func(ctx context.Context, c *Call, arguments map[string]string) (*PromptResult, error) {
			if err := checkArguments(listed, arguments); err != nil {
				return nil, err
			}
			out, err := handler(ctx, c, arguments)
			if err != nil {
				return nil, err
			}
			return promptResult(listed, any(out))
		}})
}

// RemovePrompt removes a prompt and reports whether it existed. Running calls continue.
func (s *Server) RemovePrompt(name string) bool { return s.prompts.remove(name) }

func checkArguments(p *Prompt, arguments map[string]string) error {
	for name := range arguments {
		if !slices.ContainsFunc(p.GetArguments(), func(a *PromptArgument) bool { return a.GetName() == name }) {
			return Errorf(InvalidArgument, "prompt %q has no argument %s", p.GetName(), quote(name))
		}
	}
	for _, a := range p.GetArguments() {
		if _, given := arguments[a.GetName()]; a.GetRequired() && !given {
			return Errorf(InvalidArgument, "prompt %q needs the argument %q", p.GetName(), a.GetName())
		}
	}
	return nil
}

func promptResult(p *Prompt, out any) (*PromptResult, error) {
	result := &PromptResult{Description: p.GetDescription()}
	switch v := out.(type) {
	case string:
		result.Messages = []*PromptMessage{Message(User, Text(v))}
	case []*PromptMessage:
		result.Messages = v
	case *PromptMessage:
		if result.Messages = []*PromptMessage{v}; v == nil {
			result = nil
		}
	case *mcpedgev1.GetPromptResult:
		result = v
	}
	if result == nil {
		return nil, Errorf(Internal, "prompt %q returned nothing and no error", p.GetName())
	}
	if at := slices.Index(result.GetMessages(), nil); at >= 0 {
		return nil, Errorf(Internal, "prompt %q returned messages that are nil at %d", p.GetName(), at)
	}
	return result, nil
}
