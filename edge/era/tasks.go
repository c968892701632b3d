package era

import "github.com/mcpedge/mcpedge/edge/mcp"

// TasksUndeclared refuses what only a client can have that has declared the extension of tasks with its request.
func TasksUndeclared(what string) *mcp.Error {
	return &mcp.Error{
		Kind: mcp.KindMissingCapability,
		Data: []byte(`{"requiredCapabilities":{"extensions":{"` + mcp.ExtensionTasks + `":{}}}}`),
		Message: what + ` needs a client that can have tasks: send "` + mcp.ExtensionTasks + `":{} in the extensions of ` +
			mcp.MetaCapabilities + " with the request",
	}
}
