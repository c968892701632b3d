package tasks

import (
	"errors"
	"fmt"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/call/runtime"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// render returns the end of a task that the edge itself ended (call.Config). It takes no lock.
func (t *Tasks) render(r *medium.Record, f call.Failure, why error) []byte {
	return failed(t.failureOf(r, f, why))
}

// noRoom returns the error for a caller whose stored data has reached the bound.
func noRoom(err error, room *state.PrincipalRoomError) *mcp.Error {
	return &mcp.Error{Kind: mcp.KindLimit, Err: err, Message: fmt.Sprintf(
		"your sessions and tasks keep %d of at most %d bytes, and %d more do not fit: cancel tasks that work, answer what waits, end sessions, or ask for less",
		room.Used, room.Max, room.More)}
}

// logAttrs returns the task's identification for the log (runtime.Options), with the id of its call
// and what that names, unless its record has only its end. The identification is a hash of the
// task's id, because the id gives access to the result.
func logAttrs(r *medium.Record) []any {
	about := []any{"task", telemetry.SessionPrint(r.Session)}
	o, err := readOrigin(r.Params)
	if err != nil {
		return about
	}
	var p mcp.Params
	_ = p.Parse(r.Method, o.Params, nil) // The target is empty if the params cannot be parsed.
	return append(about, "call", o.Call, "target", mcp.ClipText(p.Target))
}

// cancelled returns the end of a task that was cancelled (call.Config).
func cancelled(*medium.Record) []byte { return entry{Cancelled: true}.encode() }

var texts = runtime.Texts{
	call.Late:         "the task did not end within {lifetime}, answers of the client included",
	call.NoClient:     "the client has disconnected and cannot be asked",
	call.Oversized:    "the result is larger than what may be kept for a task; ask for less",
	call.OversizedAsk: "what the task asks of the client is larger than what may be kept",
	call.NoIDs:        "no name was found for a question of the task",
	call.Poison: "{lost} servers were lost, one after the other, while they ran the task, and it is not run again: " +
		"it may be what ends them, do not send it again unchanged",
	call.UnknownOutcome: "the server that ran the task was lost; whether it took effect is not known: check before you send it again",
}

// failureOf returns the error of a failure. why is the store's error, or nil.
func (t *Tasks) failureOf(r *medium.Record, f call.Failure, why error) error {
	switch f {
	case call.Leaving, call.NoSession:
		return mcp.ShuttingDown()
	case call.Full:
		if room := (*state.PrincipalRoomError)(nil); errors.As(why, &room) {
			return noRoom(why, room)
		}
		return mcp.Errorf(mcp.KindLimit, "the task has no room for what it asks, or was asked")
	case call.NoStore:
		return unavailable(state.ErrUnavailable)
	case call.Poison:
		t.o.Logger.Error("a task was lost with every replica that ran it, and is not run again: it may be what ends them",
			append(logAttrs(r), "replicas", r.Lapses, "attempts", t.o.MaxAttempts)...)
	}
	return texts.Error(r, f, t.o.Lifetime)
}
