// Package capability makes a backend of MCP Edge from Go functions: tools, resources and prompts
// that the edge serves to every client of the Model Context Protocol. A whole service:
//
//	package main
//
//	import (
//		"context"
//
//		"github.com/mcpedge/mcpedge/capability"
//	)
//
//	func main() {
//		s := capability.New("greeter", "1.0.0")
//		capability.AddTool(s, "greet", "Greets someone", func(_ context.Context, _ *capability.Call, in struct{ Name string }) (string, error) {
//			return "Hello, " + in.Name, nil
//		})
//		capability.Main(s)
//	}
//
// # Tools
//
// AddTool makes the schemas from the function's types and decodes and encodes by them; AddRawTool
// leaves both to you. A plain error is shown to the model; Errorf chooses another kind.
//
// # Asking
//
// Ask, Call.AskForm, Call.AskURL, Call.Sample and Call.Roots ask the user, the client's model or the
// client, as plain calls:
//
//	answer, err := capability.Ask[Confirmation](c, "confirm", "Really delete it?")
//	if errors.Is(err, capability.ErrDeclined) {
//		return "Nothing was deleted.", nil
//	}
//
// While the client thinks, nothing waits: the handler ends, and runs again from its top when the
// answer is there. Ask says what that asks of a handler; Once gives it a value that stays the same in all rounds.
//
// # While it runs
//
// Call.Progress, Call.Log and Call.Logger tell the client how it goes; they cost nothing when it does not want
// to know. The context ends when the client cancels, or at the deadline.
//
// # Resources and prompts
//
// AddResource, AddTemplate and Server.Provide serve what can be read: one thing, all that a URI
// template describes, or all below a prefix. AddPrompt serves prompts. Complete and Suggest give
// their arguments suggestions. All of it may change while it is served, and those who watch are
// told; Server.ResourceUpdated says that a resource has new contents.
//
// # Serving
//
// Main is a whole main function, with TLS by flags (see TLSFiles), Server.Serve serves on a listener, Server.Register joins a gRPC
// server of your own. Package capabilitytest calls a Server in tests as the edge does.
package capability
