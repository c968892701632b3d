package stateful

import (
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// cancelled serves notifications/cancelled (Utilities, "Cancellation"): the call ends wherever it
// runs or waits, without a response. A stream just ends. An exchange that is not a stream is
// accepted without a body, which sends nothing on stdio. A call that has ended or is unknown is
// ignored.
func (e *Era) cancelled(in *mcp.Incoming, s *localSession, msg jsonrpc.Message) {
	raw, _ := jsonrpc.Member(msg.Params, "requestId")
	id, err := jsonrpc.NewID(string(raw))
	if err != nil || e.cancelHere(s, id.Raw()) {
		return
	}
	in.Admit()                         // the store and the other replicas must not hold back a ping
	e.calls.Cancel(s.id, id.Raw(), "") // Only the session's principal can.
}

// cancelHere cancels the call with a request id if it runs here or is about to. It returns false if
// there is none.
func (e *Era) cancelHere(s *localSession, id string) bool {
	s.mu.Lock()
	c := s.running[id]
	if c == nil || c.parked {
		s.mu.Unlock()
		return false
	}
	r := c.run
	if r == nil && c.exchange != nil { // It is about to run: see exchange.serve.
		c.cancelled = true
		s.mu.Unlock()
		return true
	}
	s.mu.Unlock()
	return c.cancel(r)
}
