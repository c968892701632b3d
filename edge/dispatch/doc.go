// Package dispatch turns a request's round into a call of the backend that serves it.
//
// It merges what the backends list into one view (names, URIs, templates, capabilities), answers the
// lists from it, and finds there whom a call, a read, a prompt or a completion belongs to. It checks
// arguments and structured results against the tool's schemas, and runs the backend's stream to its one
// outcome. Each feature has its file. Package changes tells subscribers of what changed in the view.
//
// The view is immutable and swapped as a whole when a backend's catalog changes, so that finding a
// tool costs one atomic load and one map access. Where the backends' lists depend on the caller there
// is one view per caller, in a bounded cache.
package dispatch
