package sse

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/transport/web"
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

const (
	// relayWait bounds how long a POST waits for the replica with its connection.
	relayWait = 5 * time.Second
	// toldWait bounds how long that replica waits for the confirmation that the 202 was sent. A
	// lost confirmation only delays the effects of the message.
	toldWait = time.Second
)

// relayed is a POST that is forwarded to another replica.
type relayed struct {
	Token string `json:"token"`
	// Caller is the principal by the POST's credentials, which may not be those of the connection.
	Caller mcp.Principal `json:"caller"`
	// Address is the address of the client, see mcp.Incoming.
	Address netip.Addr `json:"address,omitzero"`
	Body    []byte     `json:"body,omitempty"`
	// Left is answered.Tell of a POST whose 202 was sent. Nothing else is set then.
	Left string `json:"left,omitempty"`
}

// answered is the response to a POST: a status, and a body if it is refused.
type answered struct {
	Status int    `json:"status"`
	Body   []byte `json:"body,omitempty"`
	// Challenges are the values of WWW-Authenticate.
	Challenges []string `json:"challenges,omitempty"`
	// Tell, if not empty, asks the replica that has the POST to confirm that it has answered, see
	// relayed.Left.
	Tell string `json:"tell,omitempty"`
}

// separator separates the random part of a token from the address of its replica.
const separator = "-"

// tokenOf makes a connection's token.
func (h *Handler) tokenOf(random string) string {
	if h.o.Relay == nil {
		return random
	}
	return random + separator + h.o.Relay.Address()
}

// elsewhere returns the replica that a token names, if it is another one.
func (h *Handler) elsewhere(token string) (replica string, ok bool) {
	if h.o.Relay == nil || len(token) > maxToken {
		return "", false
	}
	_, replica, ok = strings.Cut(token, separator)
	return replica, ok && replica != h.o.Relay.Address()
}

// relay forwards a POST to the replica with its connection. Call told when the POST was answered.
func (h *Handler) relay(ctx context.Context, replica string, m relayed) (_ answered, told func()) {
	a := h.send(ctx, replica, m)
	if a.Tell == "" {
		return a, func() {}
	}
	return a, func() { h.send(context.WithoutCancel(ctx), replica, relayed{Left: a.Tell}) }
}

// send sends a message to another replica, and returns its answer.
func (h *Handler) send(ctx context.Context, replica string, m relayed) answered {
	ctx, cancel := context.WithTimeout(ctx, relayWait)
	defer cancel()
	message, err := json.Marshal(m)
	if err != nil {
		return answered{Status: http.StatusNotFound}
	}
	raw, err := h.o.Relay.Send(ctx, replica, message)
	if err != nil {
		h.o.Logger.Debug("a message over HTTP+SSE could not be relayed", "to", replica, "error", err)
		return answered{Status: http.StatusNotFound}
	}
	var a answered
	if json.Unmarshal(raw, &a) != nil || a.Status < 200 || a.Status > 599 {
		return answered{Status: http.StatusBadGateway}
	}
	return a
}

// received serves a message from another replica.
func (h *Handler) received(message []byte) []byte {
	var m relayed
	a := answered{Status: http.StatusBadRequest}
	switch {
	case json.Unmarshal(message, &m) != nil:
	case m.Left != "":
		h.left(m.Left)
		a.Status = http.StatusOK
	default:
		a = h.distant(m)
	}
	raw, err := json.Marshal(a)
	if err != nil {
		return nil
	}
	return raw
}

// distant serves a POST that arrived at another replica.
func (h *Handler) distant(m relayed) answered {
	in := &mcp.Incoming{Body: m.Body, Header: http.Header{}, Address: m.Address, Principal: m.Caller, Memory: new(budget.Reservation)}
	a, x := h.deliver(m.Token, in)
	switch {
	case x == nil:
	case !x.accepted:
		close(x.told)
	default:
		a.Tell = rand.Text()
		h.untold.Store(a.Tell, x)
		time.AfterFunc(toldWait, func() { h.left(a.Tell) })
	}
	return a
}

// left continues the exchange whose 202 was sent, if it still waits for that.
func (h *Handler) left(name string) {
	if x, ok := h.untold.LoadAndDelete(name); ok {
		close(x.(*exchange).told)
	}
}

// local serves a POST on a connection of this process. Call told when the POST was answered.
func (h *Handler) local(token string, in *mcp.Incoming) (_ answered, told func()) {
	a, x := h.deliver(token, in)
	if x == nil {
		return a, func() {}
	}
	return a, func() { close(x.told) }
}

// deliver serves a message on a connection of this process and waits until the POST can be
// answered. 404 without a body means that the principal has no such connection. x is nil if nothing
// is being served; otherwise close x.told, once. What the message holds is released after it was
// served.
func (h *Handler) deliver(token string, in *mcp.Incoming) (_ answered, x *exchange) {
	c, principal := h.open.find(token), in.Principal.Key()
	if c != nil && c.principal.Key() != principal {
		if err := h.o.Web.Telemetry.Foreign(context.Background(), in, token); err != nil {
			in.Memory.Release()
			return answered{Status: http.StatusServiceUnavailable}, nil
		}
	}
	if c == nil || c.principal.Key() != principal {
		in.Memory.Release()
		return answered{Status: http.StatusNotFound}, nil
	}
	if in.Memory.Holder() == nil { // another replica has read it
		*in.Memory = c.memory.Holder().Begin()
		in.Memory.Force(budget.Requests, web.RequestBytes+int64(len(in.Body)))
	}
	if in.Token.IsZero() && sameRights(&in.Principal, &c.principal) {
		in.Token = c.bearer // Another replica has read the message, and tokens are not relayed.
	}
	x = newExchange(c)
	switch c.begin(in, x) {
	case full:
		in.Memory.Release()
		return answered{Status: http.StatusTooManyRequests}, nil
	case shut:
		in.Memory.Release()
		return answered{Status: http.StatusNotFound}, nil
	}
	<-x.settled
	if x.denied != nil {
		return answered{Status: x.denied.Status, Body: x.refusal.Body, Challenges: x.denied.Challenges}, x
	}
	if x.refusal != nil {
		return answered{Status: status(x.refusal.Kind), Body: x.refusal.Body}, x
	}
	return answered{Status: http.StatusAccepted}, x
}

// sameRights reports whether two principals are the same caller with the same rights, so that one
// token may be used for the other.
func sameRights(a, b *mcp.Principal) bool {
	return bytes.Equal(a.AppendIdentity(nil, slices.Sorted(maps.Keys(a.Forwarded))), b.AppendIdentity(nil, slices.Sorted(maps.Keys(b.Forwarded))))
}
