// Package memory keeps the durable state of one process: the medium of an edge that runs alone, and
// of tests, where several replicas share one Medium.
//
// Every session has its own lock, and nothing on a request's path takes a lock that all sessions
// share. Expired state is invisible at once; a sweep, run by a timer while there is something to
// sweep, frees its memory. The package keeps no goroutine.
package memory
