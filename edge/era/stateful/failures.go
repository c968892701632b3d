package stateful

import (
	"errors"

	"github.com/mcpedge/mcpedge/edge/era/stateful/call"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// failures maps the failures of the machines to kinds.
var failures = map[call.Failure]mcp.Kind{
	call.Late: mcp.KindTimeout, call.NoSession: mcp.KindSessionNotFound, call.Leaving: mcp.KindUnavailable,
	call.Oversized: mcp.KindTooLarge, call.OversizedAsk: mcp.KindTooLarge, call.NoIDs: mcp.KindInternal,
	call.UnknownOutcome: mcp.KindUnknownOutcome, call.Poison: mcp.KindUnknownOutcome, call.Unheard: mcp.KindCancelled,
}

// render makes the response of a failure (call.Config). It takes no lock.
func (e *Era) render(r *medium.Record, f call.Failure, err error) []byte {
	rules := revision.Assumed()
	if s := e.sessions.get(r.Session); s != nil && s.rec.Load() != nil {
		rules = s.rec.Load().rules
	}
	id, _ := jsonrpc.NewID(r.RequestID)
	return failure(rules, id, e.failed(r, f, err)).body
}

// failed returns the error of a failure. why is the store's error, or nil.
func (e *Era) failed(r *medium.Record, f call.Failure, why error) error {
	kind := failures[f]
	switch f {
	case call.Late:
		return mcp.Errorf(kind, "the call did not end within %s, answers of the client included", e.o.CallLifetime)
	case call.NoSession:
		return sessionNotFound()
	case call.Leaving:
		return shuttingDown()
	case call.Unheard:
		return mcp.Errorf(kind, "%s", errNobody)
	case call.Oversized:
		return mcp.Errorf(kind, "the response is larger than what a stream may keep; ask for less")
	case call.OversizedAsk:
		return mcp.Errorf(kind, "what the call asks of the client is larger than what a stream may keep")
	case call.NoIDs:
		return mcp.Errorf(kind, "the client has so many requests to answer that no id was found for another")
	case call.NoStore:
		return stateError(state.ErrUnavailable)
	case call.Full:
		if errors.Is(why, state.ErrLimit) {
			return stateError(why)
		}
		return stateError(state.ErrLimit)
	case call.Poison:
		return mcp.Errorf(kind,
			"%d servers were lost, one after the other, while they ran the call, and it is not run again: %s may be what ends them, do not send it again unchanged",
			r.Lapses, r.Method)
	}
	return mcp.Errorf(mcp.KindUnknownOutcome,
		"the server that ran the call was lost; whether %s took effect is not known: check before you send it again", r.Method)
}
