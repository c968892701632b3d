// Package memory keeps the durable state of one process: the medium of an edge that runs alone, and of
// tests, where several replicas share one Medium.
//
// Every session has a lock of its own, and nothing on a request's path takes one that all sessions
// share. What has expired is gone at once for everybody who asks, and its memory is given back by a
// sweep that runs on a timer while there is something to sweep; no goroutine is kept.
package memory
