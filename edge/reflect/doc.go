// Package reflect speaks the contract for gRPC services that know nothing of it.
//
// An Adapter stands between the edge and such a service. It learns the service's methods from server
// reflection or from a descriptor set, makes a tool of each that takes one message, and implements the
// clients of ToolService and BackendService, so that the rest of the edge sees a backend like any other. It
// follows the connection: when the service was away, or may have been deployed anew, the tools are learned
// again and a change is reported.
//
// Arguments and results are protobuf's JSON mapping. Metadata, deadline and cancellation pass through.
package reflect
