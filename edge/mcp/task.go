package mcp

import (
	"context"
	"time"
)

// TaskSupport says whether a call of a tool may become a task. The zero value means that it may
// not.
type TaskSupport struct {
	// Optional allows tasks for clients that support them. Required needs them: other clients are
	// refused. At most one is set.
	Optional, Required bool
	// AtOnce makes the task before the backend is called, if the client does not choose; else it is
	// made when the backend requests it (Deferrer), or the call has run for a while.
	AtOnce bool
	// Poll is the interval at which a client should poll the task. 0 lets the edge choose.
	Poll time.Duration
}

// CallTask describes the task that a call is or may become.
type CallTask struct {
	// ID is the id by which clients know the task. Empty means that it is none yet.
	ID string
	// Until is when the work must end, in place of the backend's timeout.
	Until time.Time
}

// Deferrer is a Sink of a call that may become a task.
type Deferrer interface {
	// Defer makes the call a task now, unless it is one. It does not wait for that. Dispatch calls
	// it like Emit.
	Defer(ctx context.Context) error
}

// Checkpointer is a Sink of a call whose round can be run again from its middle.
type Checkpointer interface {
	// Checkpoint says that the round may be run again from a state, without the answers that it
	// began with. It does not wait until that is stored. The state must not change any more.
	Checkpoint(state []byte)
}

// MaxState bounds the state of a backend's round, in bytes.
const MaxState = 64 << 10
