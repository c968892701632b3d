// Package apis puts public gRPC APIs behind `kind: reflect` and holds what clients are shown of them against
// the published rules of model interfaces. It is a module of its own, so that the APIs weigh on nobody else,
// and knows of the edge no more than its binary: `make stages ONLY=apis` builds that and says where it is.
package apis
