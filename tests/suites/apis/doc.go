// Package apis puts public gRPC APIs behind `kind: reflect`: every method is listed, `mcpedge check` ends with 0, what clients are shown
// keeps the published rules of model interfaces and has no loose reference, and APIs of many files are learned at a distance. It is a
// module of its own, so that the APIs weigh on nobody else, and knows of the edge no more than its binary: `make stages ONLY=apis`
// builds that and says where it is.
package apis
