package sse

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/transport/web"
)

// answered is the response to a POST: a status, and a body if it is refused.
type answered struct {
	Status int    `json:"status"`
	Body   []byte `json:"body,omitempty"`
	// Challenges are the values of WWW-Authenticate.
	Challenges []string `json:"challenges,omitempty"`
}

// local serves a POST on a connection of this process. Call postDone when the POST was answered.
func (h *Handler) local(token string, in *mcp.Incoming) (_ answered, postDone func()) {
	a, x := h.deliver(token, in)
	if x == nil {
		return a, func() {}
	}
	return a, func() { close(x.postDone) }
}

// deliver serves a message on a connection of this process and waits until the POST can be
// answered. 404 without a body means that the principal has no such connection. x is nil if nothing
// is being served; otherwise close x.postDone, once. What the message holds is released after it
// was served.
func (h *Handler) deliver(token string, in *mcp.Incoming) (_ answered, x *outgoing) {
	c, principal := h.open.find(token), in.Principal.Key()
	if c != nil && c.set != in.Set {
		c = nil // The connections of another set do not exist here.
	}
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
	x = newOutgoing(c)
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
