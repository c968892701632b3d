// Package api lists and watches objects of the Kubernetes API, with only the fields that
// edge/kubernetes reads. It replaces k8s.io/client-go, which would be a seventh of the program.
//
//	Config ─► Client: one request, with a fresh token; a refusal becomes a StatusError that says what to do
//	             └─► Follower: a copy of the objects of a namespace, by a list in pages and then by watches of its changes
//
// Data from the API server is bounded: an event, a page of a list, the number of objects of a
// Follower. Exceeding a bound is an error.
package api
