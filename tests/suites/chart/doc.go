// Package chart renders the Helm chart of deploy/chart with values that matter, holds every object against its API (the
// types, the API server's own validation, the schemas of CRDs and the Pod Security Standards), and starts the edge as its pod
// does: with its configuration, arguments, environment and files. It is a module of its own, so that Helm and the APIs weigh
// on nobody else; `make stages ONLY=chart` builds the edge and says where it is.
package chart
