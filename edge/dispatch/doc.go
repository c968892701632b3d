// Package dispatch runs the rounds of requests. Resolve looks up the object that a request names,
// reads the arguments as the backend does, and applies rules and scopes. Call checks arguments and
// structured results against the tool's schemas, and reads the backend's stream until its single
// outcome. Each feature has its own file.
package dispatch
