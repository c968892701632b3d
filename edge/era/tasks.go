package era

import "github.com/mcpedge/mcpedge/edge/mcp"

// TasksUndeclared returns the error for a request that requires the extension of tasks, which its
// client has not declared. what names the request.
func TasksUndeclared(what string) *mcp.Error {
	return &mcp.Error{
		Kind: mcp.KindMissingCapability,
		Data: []byte(`{"requiredCapabilities":{"extensions":{"` + mcp.ExtensionTasks + `":{}}}}`),
		Message: what + ` needs a client that can have tasks: send "` + mcp.ExtensionTasks + `":{} in the extensions of ` +
			mcp.MetaCapabilities + " with the request",
	}
}
