package mcp

import (
	"context"
	"encoding/json"
)

// Sink takes the events of a running call. Dispatch calls it from one goroutine at a time, with
// progress that rises within the round and with logs at or above the call's level. The era ensures
// that progress rises over the rounds of a request: see ProgressTracker.
type Sink interface {
	// Emit passes the event on. An error means that there is no receiver any more: the client has
	// disconnected in the stateless era, or another replica has taken over the call. dispatch then
	// cancels the backend's call.
	Emit(ctx context.Context, ev Event) error
}

// Binder is a Sink of a call that may continue in later rounds, which are bound to its first
// backend.
type Binder interface {
	// Bind sets, by its configured name, the backend that is about to run the round. The goroutine
	// that calls Emit calls it, before any event.
	Bind(backend string)
}

// Event is a notification about a running call.
type Event struct {
	// Method is NotifyProgress or NotifyMessage.
	Method Method
	// Params is the rendered params object. The receiver owns it.
	Params json.RawMessage
	// Progress is the value of a progress event, for code that must not repeat one; else 0.
	Progress float64
}
