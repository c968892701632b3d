package server

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcpedge/mcpedge/capability"
)

type workspaceRoot struct {
	URI  string `json:"uri"`
	Name string `json:"name,omitempty"`
}

type workspace struct {
	Roots []workspaceRoot `json:"roots"`
}

func addWorkspace(s *capability.Server) {
	capability.AddTool(s, "list_workspace",
		"Lists the directories and files that the client works on, as the client lists them.",
		listWorkspace, readOnlyOptions("List the workspace", capability.OutputType[workspace]())...)
}

func listWorkspace(_ context.Context, c *capability.Call, _ struct{}) (*capability.Result, error) {
	found := workspace{Roots: []workspaceRoot{}}
	var text strings.Builder
	for _, root := range c.Roots("roots") {
		found.Roots = append(found.Roots, workspaceRoot{URI: root.GetUri(), Name: root.GetName()})
		text.WriteString("\n" + root.GetUri())
		if root.GetName() != "" {
			fmt.Fprintf(&text, " (%s)", root.GetName())
		}
	}
	return &capability.Result{
		Content:    []*capability.Content{capability.Text(fmt.Sprintf("The client has %d roots.%s", len(found.Roots), text.String()))},
		Structured: found,
	}, nil
}
