package stateful

import (
	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// cancelled serves notifications/cancelled (Utilities, "Cancellation"). The call ends without a
// response on whichever replica it runs or waits. A stream ends without a further event. An
// exchange that is not a stream is accepted without a body, which sends nothing on stdio. The
// cancellation of an ended or unknown call is ignored.
func (e *Era) cancelled(in *mcp.Incoming, s *localSession, msg jsonrpc.Message) {
	id, ok := era.CancelledID(msg)
	if !ok || e.cancelHere(s, id.Raw()) {
		return
	}
	in.Admit()                          // the store and the other replicas must not delay a ping
	e.calls.Cancel(s.id, id.Raw(), nil) // Only the session's principal may cancel.
}

// cancelHere cancels the call with a request id if it runs here or is about to. It returns false if
// there is no such call.
func (e *Era) cancelHere(s *localSession, id string) bool {
	s.mu.Lock()
	c := s.running[id]
	if c == nil || c.parked {
		s.mu.Unlock()
		return false
	}
	r := c.run
	if r == nil && c.exchange != nil { // The call is about to run: see exchange.serve.
		c.cancelled = true
		s.mu.Unlock()
		return true
	}
	s.mu.Unlock()
	if r == nil { // a claimed call
		return e.calls.CancelHere(c.First.ID)
	}
	r.Cancel()
	return true
}
