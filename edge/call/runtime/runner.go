package runtime

import (
	"context"
	"time"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// Runner is a call as seen by the session or the task that holds it: it runs the rounds and is
// notified of the call's progress. Its methods must not call the Replica; Deliver and Done must not
// block. Deliver and Done are called one at a time, but concurrently with Run. Stores and Stored events
// may be delivered concurrently with all of them.
type Runner interface {
	// Run calls the backend for a round. round has the round's number, answers and state, and must
	// not be changed. Run passes the backend's events to events (Emit, Checkpoint) and returns the
	// reply of the round. After ctx is done it returns soon, with any reply.
	Run(ctx context.Context, round *medium.Record, events *Driver) *call.Reply
	// Deliver delivers an event of the call's life.
	Deliver(e Event)
	// Done reports that this replica no longer runs the call. r is the final reply, or nil. After
	// HowLost only r.Cancelled has a meaning: the client has cancelled the call, which another
	// replica ends.
	Done(how call.How, r *call.Reply)
}

// Event is an event of a call's life. Exactly one of its members is set.
type Event struct {
	// Begins is the record that the call is about to get. The Runner sets all its fields but
	// session, stream, id, epoch and round.
	Begins *medium.Record
	// Stores is a write of the call that is about to be sent. A Stored follows it, possibly after
	// Done.
	Stores *medium.Write
	// Stored is the result of a write of the call.
	Stored *Stored
	// Frees is true if the client may reuse the request's id from now on: its response is about to
	// be written. It may be repeated.
	Frees bool
}

// Stored is the result of a write.
type Stored struct {
	Write *medium.Write
	// Began is the start of the write.
	Began time.Time
	// Err is nil if the write was stored.
	Err error
}

// noRunner is the Runner of a call that does not run.
type noRunner struct{}

func (noRunner) Run(context.Context, *medium.Record, *Driver) *call.Reply {
	return &call.Reply{Kind: call.Final}
}
func (noRunner) Deliver(Event)              {}
func (noRunner) Done(call.How, *call.Reply) {}
