package mcp

import (
	"context"
	"time"
)

// TaskSupport says whether a call of a tool may become a task. The zero value: it may not.
type TaskSupport struct {
	// Optional: for clients that can have tasks. Required: for all, and a client that cannot is refused. One of them at most.
	Optional, Required bool
	// AtOnce: before the backend is called, where the client does not choose; else when the backend wants it (Deferrer), or the call
	// has run for a while.
	AtOnce bool
	// Poll is how often a client should ask for the task; 0: the edge chooses.
	Poll time.Duration
}

// CallTask is what a call knows of the task that it is, or may become.
type CallTask struct {
	// ID that clients know the task by; empty: it is none yet.
	ID string
	// Until is when the work has to end, in the place of the backend's timeout.
	Until time.Time
}

// Deferrer is a Sink of a call that may become a task.
type Deferrer interface {
	// Defer makes it one now, if it is none. It does not wait for that. Dispatch calls it as it calls Emit.
	Defer(ctx context.Context) error
}

// Checkpointer is a Sink of a call whose round can be run again from its middle.
type Checkpointer interface {
	// Checkpoint says that the round may be run again from a state, without the answers that it began with. It does not wait for that to be kept. The state
	// is not changed any more.
	Checkpoint(state []byte)
}

// MaxState bounds the state of a backend's round, in bytes.
const MaxState = 64 << 10
