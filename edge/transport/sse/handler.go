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

// Server is what the transport hands its exchanges to: a router with the stateful era, and Stateless in
// the place of the other. Each method ends the exchange before it returns.
type Server interface {
	Post(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing)
	Listen(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing)
	End(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing)
}

const (
	allowedStream  = "GET, OPTIONS"
	allowedMessage = "POST, OPTIONS"
	// parameter of the POST's query that names the connection.
	parameter = "sessionId"
	// headerPrefix is set by proxies that cut a prefix off the path.
	headerPrefix = "X-Forwarded-Prefix"
)

// Handler serves both endpoints of the transport. Safe for concurrent use.
type Handler struct {
	server   Server
	guard    *web.Guard
	o        Options
	draining chan struct{}
	drain    sync.Once
	open     registry
	// untold are the exchanges whose 202 another replica is writing, by a random name: *exchange.
	untold sync.Map
	// expired counts connections that ended with their caller's credentials.
	expired atomic.Int64
}

// New makes the handler. auth may be nil: then everybody is anonymous.
func New(s Server, auth web.Authenticator, o Options) *Handler {
	o = o.withDefaults()
	h := &Handler{server: s, guard: web.NewGuard(auth, o.Web), o: o, draining: make(chan struct{})}
	if o.Relay != nil {
		o.Relay.Receive(h.received)
	}
	return h
}

// Stream serves the GET that is a connection. Mount it at StreamPath.
func (h *Handler) Stream(w http.ResponseWriter, r *http.Request) {
	principal, ok := h.guard.Admit(w, r, allowedStream)
	if !ok {
		return
	}
	if _, ok := h.guard.Accepts(w, r, web.TypeEvents); !ok {
		return
	}
	c := newConn(h, principal)
	c.bearer = h.guard.Token(r, principal)
	header := r.Header
	h.guard.Charge(&c.memory, r, principal)
	if err := c.memory.Grow(budget.Streams, web.StreamBytes); err != nil {
		h.guard.Overloaded(w, err)
		return
	}
	below := prefix(r.Header)
	h.guard.Listen(w, r, func(ctx context.Context, l *web.Listener) {
		defer c.memory.Release()
		if stop := h.guard.Watch(header, c.revoke); stop != nil {
			defer stop()
		}
		h.connect(ctx, w, l, c, below)
	})
}

// connect makes a request's stream a connection, and stays until it ends. below is where a proxy has the edge.
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
	c.serve(events, below+MessagePath+"?"+parameter+"="+c.token)
}

// Message serves a POST of one message, or of a batch where the negotiated revision has them. Mount it
// at MessagePath.
func (h *Handler) Message(w http.ResponseWriter, r *http.Request) {
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
	memory := new(budget.Reservation)
	h.guard.Charge(memory, r, principal)
	defer func() { memory.Release() }()
	body, ok := h.guard.Message(w, r, memory)
	if !ok {
		return
	}
	var a answered
	var told func()
	if replica, away := h.elsewhere(token); away {
		a, told = h.relay(r.Context(), replica, relayed{Token: token, Principal: principal.Key(), Caller: &principal, Address: h.guard.Address(r), Body: body})
	} else {
		in := &mcp.Incoming{Body: body, Header: r.Header, HTTP: web.Seen(r), Principal: principal, Token: h.guard.Token(r, principal), Address: h.guard.Address(r), Memory: memory}
		memory = nil // deliver's to release
		a, told = h.local(token, principal.Key(), in)
	}
	defer told()
	h.answer(w, a)
}

// answer ends a POST.
func (h *Handler) answer(w http.ResponseWriter, a answered) {
	switch {
	case len(a.Body) > 0:
		web.Challenge(w, a.Challenges)
		h.guard.Answer(w, a.Status, a.Body)
	case a.Status == http.StatusNotFound:
		h.guard.Refuse(w, a.Status, "no open HTTP+SSE connection has this "+parameter+": its stream has ended, or is at a replica that shares no Redis with this one. Open the stream again")
	case a.Status == http.StatusTooManyRequests:
		h.guard.Refuse(w, a.Status, "too many messages of this connection are being served: wait for some responses")
	case a.Status == http.StatusAccepted:
		w.Header().Set("Content-Length", "0")
		h.guard.Deadline(w)
		w.WriteHeader(a.Status)
		_ = http.NewResponseController(w).Flush() // It leaves now: what the message released comes after it.
	default:
		h.guard.Refuse(w, a.Status, "the replica that has the connection could not be understood: open the stream again")
	}
}

// prefix is what a proxy says it cut off the path of the endpoint. It is empty unless the header is plainly a path:
// what is written here is resolved as a reference.
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

// Expired is how many connections have ended with their caller's credentials.
func (h *Handler) Expired() int64 { return h.expired.Load() }

// Drain ends the transport: new connections are refused; each open one is closed as soon as no message
// of it is being served; those that still are when ctx ends are cut. It returns when no connection is
// left, or with ctx's error.
func (h *Handler) Drain(ctx context.Context) error {
	h.open.shut()
	h.drain.Do(func() { close(h.draining) })
	err := h.open.wait(ctx)
	if err != nil {
		h.open.cut()
	}
	return err
}
