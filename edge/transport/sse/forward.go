package sse

import (
	"context"
	"encoding/json"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Relay sends requests between the replicas of a service, as bytes, each answered by its receiver.
// It does not know connections: this file forwards a POST to the replica with the GET. It is safe
// for concurrent use.
type Relay interface {
	// Address returns this replica's address: at most 32 letters and digits. Clients see it in
	// their endpoint.
	Address() string
	// Send sends a message to a replica and returns its answer. It fails if that replica does not
	// answer before ctx ends, or is known not to exist.
	Send(ctx context.Context, to string, message []byte) (answer []byte, err error)
	// Receive sets the function that answers the messages of other replicas, each in its own
	// goroutine. Call it once, before the first Send.
	Receive(func(message []byte) (answer []byte))
}

// relayWait bounds the wait of a POST for the replica with its connection.
const relayWait = 5 * time.Second

// relayed is a POST that is forwarded to another replica.
type relayed struct {
	Token string `json:"token"`
	// Set is the set at whose endpoint it arrived; empty means the root.
	Set string `json:"set,omitempty"`
	// Caller is the principal by the POST's credentials, which may not be those of the connection.
	Caller mcp.Principal `json:"caller"`
	// Address is the address of the client, see mcp.Incoming.
	Address netip.Addr `json:"address,omitzero"`
	Body    []byte     `json:"body"`
}

// tokenOf makes a connection's token. If there may be other replicas, it ends with "-" and the
// address of this one.
func (h *Handler) tokenOf(random string) string {
	if h.o.Relay == nil {
		return random
	}
	return random + "-" + h.o.Relay.Address()
}

// remoteReplica returns the replica that a token names, if it is another one.
func (h *Handler) remoteReplica(token string) (replica string, ok bool) {
	if h.o.Relay == nil || len(token) > maxToken {
		return "", false
	}
	_, replica, ok = strings.Cut(token, "-")
	return replica, ok && replica != h.o.Relay.Address()
}

// relay forwards a POST to the replica with its connection, and returns that replica's answer.
func (h *Handler) relay(ctx context.Context, replica string, m relayed) (a answered) {
	ctx, cancel := context.WithTimeout(ctx, relayWait)
	defer cancel()
	message, err := json.Marshal(m)
	if err == nil {
		message, err = h.o.Relay.Send(ctx, replica, message)
	}
	if err == nil {
		err = json.Unmarshal(message, &a)
	}
	if err != nil {
		h.o.Logger.Debug("a message over HTTP+SSE could not be relayed", "to", replica, "error", err)
		return answered{Status: http.StatusNotFound}
	}
	return a
}

// received serves a POST that another replica forwards. The effects of its message do not wait
// until that replica has sent the 202.
func (h *Handler) received(message []byte) []byte {
	var m relayed
	a := answered{Status: http.StatusBadRequest}
	if json.Unmarshal(message, &m) == nil {
		var postDone func()
		a, postDone = h.local(m.Token, &mcp.Incoming{Body: m.Body, Set: m.Set, Header: http.Header{}, Address: m.Address, Principal: m.Caller, Memory: new(budget.Reservation)})
		postDone()
	}
	raw, err := json.Marshal(a)
	if err != nil {
		return nil
	}
	return raw
}
