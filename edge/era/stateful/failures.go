package stateful

import (
	"errors"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/call/runtime"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

var texts = runtime.Texts{
	call.Late:         "the call did not end within {lifetime}, answers of the client included",
	call.NoClient:     "the client does not read the call's events", // The client disconnected before it got an event id.
	call.Oversized:    "the response is larger than what a stream may keep; ask for less",
	call.OversizedAsk: "what the call asks of the client is larger than what a stream may keep",
	call.NoIDs:        "the client has so many requests to answer that no id was found for another",
	call.Poison: "{lost} servers were lost, one after the other, while they ran the call, and it is not run again: " +
		"{method} may be what ends them, do not send it again unchanged",
	call.UnknownOutcome: "the server that ran the call was lost; whether {method} took effect is not known: check before you send it again",
}

// render makes the response of a failure (call.Config). It takes no lock.
func (e *Era) render(r *medium.Record, f call.Failure, err error) []byte {
	rules := revision.Assumed()
	if s := e.sessions.get(r.Session); s != nil && s.rec.Load() != nil {
		rules = s.rec.Load().rules
	}
	id, _ := jsonrpc.NewID(r.RequestID)
	return failure(rules, id, e.failed(r, f, err)).Body
}

// failed returns the error of a failure. why is the store's error, or nil.
func (e *Era) failed(r *medium.Record, f call.Failure, why error) error {
	switch {
	case f == call.NoSession:
		return sessionNotFound()
	case f == call.Leaving:
		return mcp.ShuttingDown()
	case f == call.NoStore:
		return stateError(state.ErrUnavailable)
	case f == call.Full && errors.Is(why, state.ErrLimit):
		return stateError(why)
	case f == call.Full:
		return stateError(state.ErrLimit)
	}
	return texts.Error(r, f, e.o.CallLifetime)
}
