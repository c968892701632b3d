// Package capability builds backends of MCP Edge from Go functions. A backend has tools, resources
// and prompts, which the edge serves to every client of the Model Context Protocol. A complete
// service:
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
// AddTool generates the schemas of a tool from the function's types, decodes its arguments and
// encodes its result. AddRawTool takes schemas and JSON from the caller. The model sees a plain
// error as the tool's result; Errorf returns an error of another kind.
//
// # Asking
//
// Ask and Call.AskForm ask the user to complete a form, and Call.AskURL to open a URL. Call.Sample
// asks the client's model, and Call.Roots the client. All are plain function calls:
//
//	answer, err := capability.Ask[Confirmation](c, "confirm", "Really delete it?")
//	if errors.Is(err, capability.ErrUnanswered) { // declined or dismissed
//		return "Nothing was deleted.", nil
//	}
//
// Nothing blocks while the client answers. Execution is durable by replay, as in workflow engines:
// a question without an answer ends the handler, which runs again from its top with the answer, on
// any replica. What must happen once, or stay the same, is in Once:
//
//	order, err := capability.Once(c, "order", createOrder)
//
// Ask describes the rules that a handler must follow.
//
// # Progress and logs
//
// Call.Progress sends progress to the client; Call.Log and Call.Logger send log messages. They are
// cheap if the client does not want them. The context of a handler ends if the client cancels the
// call, or at the deadline.
//
// # Resources and prompts
//
// AddResource serves one resource, AddTemplate every URI that matches a template, and
// Server.Provide every URI below a prefix. AddPrompt serves a prompt. Complete and Suggest add
// suggestions for arguments. Entries may be added and removed while the server runs; subscribers
// are notified. Server.ResourceUpdated reports that the contents of a resource have changed.
//
// # Serving
//
// Main is a complete main function, with flags for TLS (see TLSFiles). Server.Serve serves on a
// listener, and Server.Register adds the services to an existing gRPC server. Package
// capabilitytest calls a Server in tests as the edge does.
package capability
