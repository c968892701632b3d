package tasks

import (
	"errors"
	"fmt"

	"github.com/mcpedge/mcpedge/edge/era/stateful/call"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// render returns the end of a task that the edge itself ended (call.Config). It takes no lock.
func (t *Tasks) render(r *medium.Record, f call.Failure, why error) []byte {
	if room := (*state.PrincipalRoomError)(nil); f == call.Full && errors.As(why, &room) {
		return failed(noRoom(why, room))
	}
	return failed(t.failureOf(r, f))
}

// noRoom is the error for a caller that has reached the limit of what it may store.
func noRoom(err error, room *state.PrincipalRoomError) *mcp.Error {
	return &mcp.Error{Kind: mcp.KindLimit, Err: err, Message: fmt.Sprintf(
		"your sessions and tasks keep %d of at most %d bytes, and %d more do not fit: cancel tasks that work, answer what waits, end sessions, or ask for less",
		room.Used, room.Max, room.More)}
}

// printed returns the task's identification for the log (run.Options): a hash of its id, since the id gives access to
// the result.
func printed(r *medium.Record) []any { return []any{"task", telemetry.SessionPrint(r.Session)} }

// cancelled returns the end of a task that was cancelled (call.Config).
func cancelled(*medium.Record) []byte { return entry{Cancelled: true}.encode() }

// failureOf returns the error of a failure.
func (t *Tasks) failureOf(r *medium.Record, f call.Failure) error {
	switch f {
	case call.Late:
		return mcp.Errorf(mcp.KindTimeout, "the task did not end within %s, answers of the client included", t.o.Lifetime)
	case call.Leaving, call.NoSession:
		return mcp.Errorf(mcp.KindUnavailable, "this server is shutting down; send the request again")
	case call.Oversized:
		return mcp.Errorf(mcp.KindTooLarge, "the result is larger than what may be kept for a task; ask for less")
	case call.OversizedAsk:
		return mcp.Errorf(mcp.KindTooLarge, "what the task asks of the client is larger than what may be kept")
	case call.Full:
		return mcp.Errorf(mcp.KindLimit, "the task has no room for what it asks, or was asked")
	case call.NoIDs:
		return mcp.Errorf(mcp.KindInternal, "no name was found for a question of the task")
	case call.NoStore:
		return unavailable(state.ErrUnavailable)
	case call.Unheard:
		return mcp.Errorf(mcp.KindCancelled, "nobody can be asked: the client has left")
	case call.Poison:
		t.o.Logger.Error("a task was lost with every replica that ran it, and is not run again: it may be what ends them",
			append(printed(r), "replicas", r.Lapses, "attempts", t.o.MaxAttempts)...)
		return mcp.Errorf(mcp.KindUnknownOutcome,
			"%d servers were lost, one after the other, while they ran the task, and it is not run again: it may be what ends them, do not send it again unchanged",
			r.Lapses)
	}
	return mcp.Errorf(mcp.KindUnknownOutcome,
		"the server that ran the task was lost; whether it took effect is not known: check before you send it again")
}
