// Package servers puts gRPC servers of other languages behind `kind: reflect`: `make stages ONLY=servers` runs it.
//
// Every server implements the same service, proto/garden, with the published libraries of its language, at pinned versions, for gRPC, reflection
// and health: grpc-js (node), grpcio (python) and tonic (rust). The suite tests the program that MCPEDGE_BINARY names, and controls the servers
// by proto/control, a service that their reflection does not list.
package servers
