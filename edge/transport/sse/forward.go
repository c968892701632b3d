package sse

import (
	"context"
	"encoding/json"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Relay carries requests between the replicas of a service, as bytes, each answered by the other. It knows
// nothing of connections: forwarding a POST to the replica that has the GET is this file's. Safe for concurrent use.
type Relay interface {
	// Address is this replica's, of letters and digits, at most 32: clients see it in their endpoint.
	Address() string
	// Send gives a message to a replica and returns its answer. It fails when that replica does not
	// answer before ctx ends, or is known not to be there.
	Send(ctx context.Context, to string, message []byte) (answer []byte, err error)
	// Receive sets who answers the messages of other replicas, each in a goroutine of its own. Call it
	// once, before the first Send.
	Receive(func(message []byte) (answer []byte))
}

// relayWait bounds how long a POST waits for the replica that has its connection.
const relayWait = 5 * time.Second

// relayed is a POST on its way to another replica. The connection there knows its principal: the key
// only shows that it is the same one.
type relayed struct {
	Token     string `json:"token"`
	Principal string `json:"principal"`
	// Address is that of the client, see mcp.Incoming.
	Address netip.Addr `json:"address,omitzero"`
	Body    []byte     `json:"body"`
}

// answered is what becomes of a POST: a status, and a body where it is refused.
type answered struct {
	Status int    `json:"status"`
	Body   []byte `json:"body,omitempty"`
}

// separator stands in a token between what is random and the address of its replica.
const separator = "-"

// tokenOf makes a connection's token.
func (h *Handler) tokenOf(random string) string {
	if h.o.Relay == nil {
		return random
	}
	return random + separator + h.o.Relay.Address()
}

// elsewhere is the replica that a token names, if it is another one.
func (h *Handler) elsewhere(token string) (replica string, ok bool) {
	if h.o.Relay == nil || len(token) > maxToken {
		return "", false
	}
	_, replica, ok = strings.Cut(token, separator)
	return replica, ok && replica != h.o.Relay.Address()
}

// relay hands a POST to the replica that has its connection.
func (h *Handler) relay(ctx context.Context, replica string, m relayed) answered {
	ctx, cancel := context.WithTimeout(ctx, relayWait)
	defer cancel()
	message, err := json.Marshal(m)
	if err != nil {
		return answered{Status: http.StatusNotFound}
	}
	raw, err := h.o.Relay.Send(ctx, replica, message)
	if err != nil {
		h.o.Logger.Debug("a message over HTTP+SSE could not be relayed", "replica", replica, "error", err)
		return answered{Status: http.StatusNotFound}
	}
	var a answered
	if json.Unmarshal(raw, &a) != nil || a.Status < 200 || a.Status > 599 {
		return answered{Status: http.StatusBadGateway}
	}
	return a
}

// received serves a POST that came to another replica.
func (h *Handler) received(message []byte) []byte {
	var m relayed
	a := answered{Status: http.StatusBadRequest}
	if json.Unmarshal(message, &m) == nil {
		a = h.deliver(m.Token, m.Principal, &mcp.Incoming{Body: m.Body, Header: http.Header{}, Address: m.Address})
	}
	raw, err := json.Marshal(a)
	if err != nil {
		return nil
	}
	return raw
}

// deliver serves a message on a connection of this process and waits until the POST can be answered. 404
// without a body: there is no such connection of that principal.
func (h *Handler) deliver(token, principal string, in *mcp.Incoming) answered {
	c := h.open.find(token)
	if c == nil || c.principal.Key() != principal {
		return answered{Status: http.StatusNotFound}
	}
	if in.Principal.Key() != principal {
		in.Principal = c.principal
	}
	x := newExchange(c)
	switch c.begin(in, x) {
	case full:
		return answered{Status: http.StatusTooManyRequests}
	case shut:
		return answered{Status: http.StatusNotFound}
	}
	<-x.settled
	if x.refusal != nil {
		return answered{Status: status(x.refusal.Kind), Body: x.refusal.Body}
	}
	return answered{Status: http.StatusAccepted}
}
