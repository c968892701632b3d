package sse

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/transport/web"
)

// Server serves exchanges: a router with the stateful era, and Stateless in place of the other.
// Each method ends the exchange before it returns.
type Server interface {
	Post(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing)
	Listen(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing)
	End(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing)
}

const (
	allowedStream  = "GET, OPTIONS"
	allowedMessage = "POST, OPTIONS"
	// parameter names the query parameter with the connection of a POST.
	parameter = "sessionId"
	// headerPrefix is set by proxies that cut off a prefix of the path.
	headerPrefix = "X-Forwarded-Prefix"
)

// Handler serves both endpoints of the transport. It is safe for concurrent use.
type Handler struct {
	server   Server
	guard    *web.Guard
	o        Options
	draining chan struct{}
	drain    sync.Once
	open     registry
	// expired counts connections that ended with their caller's credentials.
	expired atomic.Int64
}

// New makes the handler. A nil auth makes every caller anonymous.
func New(s Server, auth web.Authenticator, o Options) *Handler {
	o = o.withDefaults()
	h := &Handler{server: s, guard: web.NewGuard(auth, o.Web), o: o, draining: make(chan struct{})}
	if o.Relay != nil {
		o.Relay.Receive(h.received)
	}
	return h
}

// Stream serves the GET of a connection to a set. Empty means the root. Mount it at StreamPath, and
// for a set below it at the set's name. The authenticator decides by the path whether the caller
// may use the set.
func (h *Handler) Stream(w http.ResponseWriter, r *http.Request, set string) {
	principal, ok := h.guard.Admit(w, r, allowedStream)
	if !ok {
		return
	}
	if _, ok := h.guard.Accepts(w, r, web.TypeEvents); !ok {
		return
	}
	c := newConn(h, principal)
	c.at = strings.TrimPrefix(strings.TrimSuffix(r.URL.Path, "/"), StreamPath)
	c.set = set
	c.bearer = h.guard.Token(r, principal)
	header := r.Header
	h.guard.Charge(&c.memory, principal, h.guard.Address(r))
	if err := c.memory.Grow(budget.Streams, web.StreamBytes); err != nil {
		h.guard.Overloaded(w, err)
		return
	}
	below := prefix(r.Header)
	h.guard.Listen(w, r, func(ctx context.Context, l *web.Listener) {
		defer c.memory.Release()
		if stop := h.guard.Watch(header, principal, c.revoke); stop != nil {
			defer stop()
		}
		h.connect(ctx, w, l, c, below)
	})
}

// connect makes a connection of a request's stream, and returns when it ends. below is the path
// prefix at which a proxy serves the edge.
func (h *Handler) connect(ctx context.Context, w http.ResponseWriter, l *web.Listener, c *conn, below string) {
	c.ctx, c.cancel = context.WithCancel(ctx)
	c.writer.broken = c.cancel
	defer c.cancel()
	switch h.open.add(c, h.o.MaxConnections) {
	case full:
		h.guard.Refuse(w, http.StatusTooManyRequests, "too many HTTP+SSE connections are open: close some, or try again later")
		return
	case shut:
		h.guard.Refuse(w, http.StatusServiceUnavailable, "this server is shutting down: open the stream again")
		return
	}
	defer h.open.remove(c)
	events, err := l.Events()
	if err != nil {
		return
	}
	defer events.Close()
	c.serve(events, below+MessagePath+c.at+"?"+parameter+"="+c.token)
}

// Message serves a POST of one message, or of a batch if the negotiated revision has them. Mount it
// at MessagePath, and for a set below it at the set's name.
func (h *Handler) Message(w http.ResponseWriter, r *http.Request, set string) {
	principal, ok := h.guard.Admit(w, r, allowedMessage)
	if !ok {
		return
	}
	token := r.URL.Query().Get(parameter)
	if token == "" {
		h.guard.Refuse(w, http.StatusBadRequest,
			"the query parameter "+parameter+" is missing: open the stream with GET and POST to the URI of its endpoint event")
		return
	}
	memory, address := new(budget.Reservation), h.guard.Address(r)
	h.guard.Charge(memory, principal, address)
	defer func() { memory.Release() }()
	body, ok := h.guard.Message(w, r, memory)
	if !ok {
		return
	}
	if replica, away := h.remoteReplica(token); away {
		h.answer(w, h.relay(r.Context(), replica, relayed{Token: token, Set: set, Caller: principal, Address: address, Body: body}))
		return
	}
	in := &mcp.Incoming{Body: body, Set: set, Header: r.Header, HTTP: web.PolicyRequest(r), Principal: principal, Token: h.guard.Token(r, principal), Address: address, Memory: memory}
	memory = nil // deliver releases it
	a, postDone := h.local(token, in)
	defer postDone()
	h.answer(w, a)
}

// answer answers a POST.
func (h *Handler) answer(w http.ResponseWriter, a answered) {
	switch {
	case len(a.Body) > 0:
		web.Challenge(w, a.Challenges)
		h.guard.Answer(w, a.Status, a.Body)
	case a.Status == http.StatusNotFound:
		h.guard.Refuse(w, a.Status, "no open HTTP+SSE connection has this "+parameter+": its stream has ended, or is at a replica that shares no Redis with this one. Open the stream again")
	case a.Status == http.StatusTooManyRequests:
		h.guard.Refuse(w, a.Status, "too many messages of this connection are being served: wait for some responses")
	case a.Status != http.StatusAccepted:
		h.guard.Refuse(w, a.Status, "the message could not be served: try again later")
	default:
		w.Header().Set("Content-Length", "0")
		h.guard.Deadline(w)
		w.WriteHeader(a.Status)
		_ = http.NewResponseController(w).Flush() // Send it now: the effects of the message follow it.
	}
}

// prefix returns the path prefix that a proxy reports to have cut off. It is empty unless the
// header is clearly a path, because the result is resolved as a reference.
func prefix(h http.Header) string {
	p := strings.TrimRight(h.Get(headerPrefix), "/")
	if len(p) > maxPrefix || !strings.HasPrefix(p, "/") || strings.HasPrefix(p, "//") {
		return ""
	}
	for _, c := range []byte(p) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("/-._~%", c) >= 0:
		default:
			return ""
		}
	}
	return p
}

// Expired returns the number of connections that have ended because their caller's credentials
// expired.
func (h *Handler) Expired() int64 { return h.expired.Load() }

// Drain ends the transport: it refuses new connections, closes each open one once none of its
// messages is being served, and cuts off the rest when ctx ends. It returns when no connection is
// left, or with the error of ctx.
func (h *Handler) Drain(ctx context.Context) error {
	h.open.shut()
	h.drain.Do(func() { close(h.draining) })
	err := h.open.wait(ctx)
	if err != nil {
		h.open.endAll()
	}
	return err
}
