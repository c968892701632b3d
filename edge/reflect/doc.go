// Package reflect implements the contract for gRPC services that do not implement it.
//
// An Adapter stands between the edge and such a service. It learns the service's methods from
// server reflection or from a descriptor set, makes a tool of each unary or server-streaming
// method, and implements the clients of ToolService and BackendService, so that the rest of the
// edge sees an ordinary backend. It watches the connection: after the service was away, or may have
// been redeployed, it learns the tools again and reports a change.
//
// Arguments and results use protobuf's JSON mapping. Metadata, deadline and cancellation are passed
// on.
package reflect
