package server

import (
	"context"
	"fmt"

	"github.com/mcpedge/mcpedge/capability"
)

func addPrompts(s *capability.Server) {
	capability.AddPrompt(s, &capability.Prompt{Name: "test_simple_prompt", Title: "Simple prompt", Description: "A text"},
		func(context.Context, *capability.Call, map[string]string) (string, error) {
			return "This is a simple prompt for testing.", nil
		})
	capability.AddPrompt(s, &capability.Prompt{Name: "test_prompt_with_arguments", Title: "Prompt with arguments", Description: "A text with two arguments",
		Arguments: []*capability.PromptArgument{
			{Name: "arg1", Description: "First test argument", Required: true},
			{Name: "arg2", Description: "Second test argument", Required: true}}},
		func(_ context.Context, _ *capability.Call, arguments map[string]string) (string, error) {
			return fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", arguments["arg1"], arguments["arg2"]), nil
		},
		capability.Suggest("arg1", "paris", "park", "party"), capability.Suggest("arg2", "london", "lisbon"))
	capability.AddPrompt(s, &capability.Prompt{Name: "test_prompt_with_embedded_resource", Title: "Prompt with a resource",
		Description: "An embedded resource and a text",
		Arguments:   []*capability.PromptArgument{{Name: "resourceUri", Description: "URI of the resource to embed", Required: true}}},
		func(_ context.Context, _ *capability.Call, arguments map[string]string) ([]*capability.PromptMessage, error) {
			return []*capability.PromptMessage{
				capability.Message(capability.User, capability.Embed(capability.TextContents(arguments["resourceUri"], "text/plain", "Embedded resource content for testing."))),
				capability.Message(capability.User, capability.Text("Please process the embedded resource above.")),
			}, nil
		})
	capability.AddPrompt(s, &capability.Prompt{Name: "test_prompt_with_image", Title: "Prompt with an image", Description: "An image and a text"},
		func(context.Context, *capability.Call, map[string]string) ([]*capability.PromptMessage, error) {
			return []*capability.PromptMessage{
				capability.Message(capability.User, capability.Image(redPixel, "image/png")),
				capability.Message(capability.User, capability.Text("Please analyze the image above.")),
			}, nil
		})
	capability.AddPrompt(s, &capability.Prompt{Name: "test_input_required_result_prompt", Title: "Asking prompt", Description: "A text that the user is asked about first"},
		func(_ context.Context, c *capability.Call, _ map[string]string) (string, error) {
			r := c.AskForm("user_context", "What context should the prompt use?", contextForm)
			if r.Action != capability.Accept {
				return fmt.Sprintf("Prompt without context (%s)", r.Action), nil
			}
			return "Prompt with context: " + member(r, "context"), nil
		})
}
