// Package dispatch runs the rounds of requests. Resolve has the catalog find what a request names, reads its arguments as the backend does, and
// has rules and scopes decide on it; Call checks arguments and structured results against the tool's schemas, and runs the backend's stream to
// its one outcome. Each feature has its file.
package dispatch
