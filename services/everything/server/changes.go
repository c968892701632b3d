package server

import (
	"context"
	"sync"

	"github.com/mcpedge/mcpedge/capability"
)

// addChanges adds tools that change the lists. Each call adds an entry, or removes it again.
func addChanges(s *capability.Server) {
	const dynamicTool, dynamicPrompt = "test_dynamic_tool", "test_dynamic_prompt"
	var mu sync.Mutex
	trigger := func(name, description string, change func() string) {
		capability.AddTool(s, name, description, func(context.Context, *capability.Call, none) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			return change(), nil
		}, capability.Destructive(false), capability.OpenWorld(false))
	}
	trigger("test_trigger_tool_change", "Adds a tool, or removes it again", func() string {
		if s.RemoveTool(dynamicTool) {
			return "Removed " + dynamicTool + "."
		}
		capability.AddTool(s, dynamicTool, "Comes and goes by test_trigger_tool_change",
			func(context.Context, *capability.Call, none) (string, error) {
				return "This tool is here for now.", nil
			}, plain()...)
		return "Added " + dynamicTool + "."
	})
	trigger("test_trigger_prompt_change", "Adds a prompt, or removes it again", func() string {
		if s.RemovePrompt(dynamicPrompt) {
			return "Removed " + dynamicPrompt + "."
		}
		capability.AddPrompt(s, &capability.Prompt{Name: dynamicPrompt, Description: "Comes and goes by test_trigger_prompt_change"},
			func(context.Context, *capability.Call, map[string]string) (string, error) {
				return "This prompt is here for now.", nil
			})
		return "Added " + dynamicPrompt + "."
	})
}
