package stateful

import (
	"errors"
	"fmt"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// These errors are the causes of cancelled contexts: the reasons for the early end of a call, a
// reader or an attachment.
var (
	errCancelled  = errors.New("the client cancelled the request")
	errGone       = errors.New("the session has ended")
	errClosed     = errors.New("this replica is shutting down")
	errSuperseded = errors.New("a newer stream has replaced this one")
)

// errEvicted means that the copy was evicted between lookup and use. Look it up again.
var errEvicted = errors.New("the copy is no longer held")

// stateError converts an error of the store for the client. It counts and logs a store that is
// unavailable; what says which operation failed.
func (e *Era) stateError(what string, err error) *mcp.Error {
	me := stateError(err)
	if me != nil && me.Kind == mcp.KindStateUnavailable {
		e.counters.StateErrors.Add(1)
		e.log.Warn(what, "error", err)
	}
	return me
}

// storeError is stateError for an operation on a session. It drops the copy of a session that no
// longer exists.
func (e *Era) storeError(s *localSession, err error) *mcp.Error {
	me := e.stateError("state operation failed", err)
	if me != nil && me.Kind == mcp.KindSessionNotFound {
		e.drop(s, errGone)
	}
	return me
}

// stateError converts an error of the store for the client; nil stays nil.
func stateError(err error) *mcp.Error {
	if err == nil {
		return nil
	}
	var room *state.RoomError
	var owned *state.PrincipalRoomError
	switch {
	case errors.Is(err, state.ErrNotFound), errors.Is(err, errGone):
		return sessionNotFound()
	case errors.As(err, &room):
		return &mcp.Error{Kind: mcp.KindLimit, Err: err, Message: fmt.Sprintf(
			"this session keeps %d of at most %d bytes in its subscriptions, calls and streams, and %d more do not fit: "+
				"end subscriptions, answer or cancel what waits, or let calls end", room.Used, room.Max, room.More)}
	case errors.As(err, &owned):
		return &mcp.Error{Kind: mcp.KindLimit, Err: err, Message: fmt.Sprintf(
			"your sessions and tasks keep %d of at most %d bytes, and %d more do not fit: end sessions, cancel tasks or answer what waits, or ask for less",
			owned.Used, owned.Max, owned.More)}
	case errors.Is(err, state.ErrLimit):
		return &mcp.Error{Kind: mcp.KindLimit, Err: err,
			Message: "too many sessions, streams or subscriptions are open; end some, or try again later"}
	case errors.Is(err, state.ErrTooLarge):
		return &mcp.Error{Kind: mcp.KindTooLarge, Err: err,
			Message: "the message is larger than what may be kept for a stream"}
	default:
		return &mcp.Error{Kind: mcp.KindStateUnavailable, Err: err,
			Message: "the session state cannot be reached; try again later"}
	}
}

// limitOf returns the bound that an ErrLimit is about: the bytes of the session or of its
// principal, otherwise other.
func limitOf(err error, other telemetry.Bound) telemetry.Bound {
	if errors.As(err, new(*state.PrincipalRoomError)) {
		return telemetry.BoundPrincipalBytes
	}
	if errors.As(err, new(*state.RoomError)) {
		return telemetry.BoundSessionBytes
	}
	return other
}

func sessionNotFound() *mcp.Error {
	return mcp.Errorf(mcp.KindSessionNotFound, "the session does not exist or has ended; send initialize for a new one")
}

// sessionRequired returns the error for a message without a session. It names both ways to send
// one.
func sessionRequired(in *mcp.Incoming) *mcp.Error {
	where := "header MCP-Protocol-Version: " + revision.Stateless().Version
	if in.Header == nil {
		where = "member " + mcp.MetaVersion + ` of _meta, "` + revision.Stateless().Version + `"`
	}
	return mcp.Errorf(mcp.KindSessionRequired,
		"the session id is missing; send initialize first, then its session id with every message, or send each message without a session, with the %s", where)
}
