package mcp

import (
	"context"
	"encoding/json"
)

// Sink takes what a running call has to say before its outcome. Dispatch calls it from one goroutine
// at a time, with progress that rises within the round and with logs at or above the call's level. That
// progress rises over the rounds of a request is the era's to see to: see Rising.
type Sink interface {
	// Emit passes the event on. An error means that nobody can be told any more (the client is gone
	// in the modern era, or the call was taken over): dispatch then cancels the backend's call.
	Emit(ctx context.Context, ev Event) error
}

// Binder is a Sink of a call that may go on in later rounds, which belong to the backend that it began with.
type Binder interface {
	// Bind says by its configured name which backend the round is about to be run by. It is called by the goroutine that
	// calls Emit, before any event.
	Bind(backend string)
}

// Event is a notification about a running call.
type Event struct {
	// Method is NotifyProgress or NotifyMessage.
	Method Method
	// Params is the rendered params object. Owned by the receiver.
	Params json.RawMessage
	// Progress is the value of a progress event, for those who must not repeat one; else 0.
	Progress float64
}
