package stateful

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

// cancelled serves notifications/cancelled (Utilities, "Cancellation"): the call ends wherever it
// runs or waits, and has no response. A stream then just ends. An exchange that had not become a
// stream has to end somehow: it is accepted without a body, which says nothing on stdio. A call that has
// ended meanwhile, or was never there, is ignored.
func (e *Era) cancelled(ctx context.Context, in *mcp.Incoming, s *held, msg jsonrpc.Message) {
	raw, _ := jsonrpc.Member(msg.Params, "requestId")
	id, err := jsonrpc.NewID(string(raw))
	if err != nil {
		return
	}
	if s.cancelRequest(id.Raw()) {
		return
	}
	in.Admit() // the store and the other replicas must not hold back a ping
	if e.cancelWaiting(ctx, s, id.Raw()) {
		return
	}
	// Whoever runs it, with a record or without, hears of it at once.
	e.ring(ctx, state.Bell{Kind: state.BellCancelled, Session: s.id, RequestID: id.Raw()})
}

// cancelWaiting ends a call that does not run here, if it has a record. Its runner is fenced. True: by its
// record the call had ended before, and nobody runs it.
func (e *Era) cancelWaiting(ctx context.Context, s *held, id string) (done bool) {
	sctx, cancel := e.bounded(ctx)
	defer cancel()
	claim, err := e.claim(sctx, state.Which{Session: s.id, RequestID: id, Token: rand.Text()})
	switch {
	case err == nil:
		e.counters.CallsCancelled.Add(1)
		if err := e.store.Finish(sctx, state.Write{Lease: claim.Lease, N: 1}, nil); err != nil && !lostCall(err) {
			e.log.Warn("a cancelled call could not be ended", "error", err)
		}
	case errors.Is(err, state.ErrFenced):
		return true
	case !errors.Is(err, state.ErrNotFound):
		e.counters.StateErrors.Add(1)
		e.log.Warn("a call to cancel could not be claimed", "error", err)
	}
	return false
}

// cancelRequest cancels a call that runs here.
func (s *held) cancelRequest(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.running[id]
	if r == nil || r.parked {
		return false
	}
	r.cancel(errCancelled)
	return true
}

// parkedHere says whether a call waits whose client reads its stream here.
func (s *held) parkedHere(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.running[id]
	return r != nil && r.parked
}

// refused says why a call ends because the client answered a request with an error.
func refused(a state.Answered) string {
	text := "the client refused " + string(a.Method)
	raw, _ := jsonrpc.Member(a.Error, "message")
	if m, ok := jsonrpc.Unquote(raw); ok && m != "" {
		text += ": " + m
	}
	return text
}

// answerOf turns an answer into what the backend is told. It returns false when the client refused
// what only it could have given: an elicitation can be cancelled, sampling and roots can not.
func answerOf(a state.Answered) (mcp.InputResponse, bool) {
	r := mcp.InputResponse{Key: a.Key, Method: a.Method, Result: a.Result}
	if a.Error == nil {
		return r, true
	}
	if a.Method != mcp.MethodElicit {
		return r, false
	}
	r.Result = []byte(`{"action":"cancel"}`)
	return r, true
}
