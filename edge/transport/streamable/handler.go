package streamable

import (
	"context"
	"net/http"
	"sync/atomic"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/transport/web"
)

// Server serves exchanges. Each method ends the exchange before it returns.
type Server interface {
	Post(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing)
	Listen(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing)
	End(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing)
}

const (
	headerSession     = "Mcp-Session-Id"
	headerLastEventID = "Last-Event-Id"
	allowed           = "GET, POST, DELETE, OPTIONS"
	// allowedWithoutSession lists the methods that a client without a session may use.
	allowedWithoutSession = "POST, OPTIONS"
)

// Handler serves the MCP endpoint, and those of sets. It is safe for concurrent use.
type Handler struct {
	server Server
	guard  *web.Guard
	// revoked counts streams that ended with their caller's credentials.
	revoked atomic.Int64
}

var _ http.Handler = (*Handler)(nil)

// New makes the endpoint's handler. auth may be nil.
func New(s Server, auth Authenticator, o Options) *Handler {
	return &Handler{server: s, guard: web.NewGuard(auth, o)}
}

// ServeHTTP serves POST, GET, DELETE and OPTIONS at the root.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.Serve(w, r, "") }

// Serve is ServeHTTP at the endpoint of a set; empty means the root. The authenticator decides, by the
// path, whether the caller may use the set.
func (h *Handler) Serve(w http.ResponseWriter, r *http.Request, set string) {
	principal, ok := h.guard.Admit(w, r, allowed)
	if !ok {
		return
	}
	in := &mcp.Incoming{
		Header: r.Header, HTTP: web.PolicyRequest(r), Principal: principal, Token: h.guard.Token(r, principal), Credentials: h.guard, Address: h.guard.Address(r),
		Set: set, PerRequest: true, Session: r.Header.Get(headerSession), LastEventID: r.Header.Get(headerLastEventID),
	}
	switch r.Method {
	case http.MethodPost:
		h.post(w, r, in)
	case http.MethodGet:
		h.get(w, r, in)
	case http.MethodDelete:
		h.server.End(r.Context(), in, h.outgoing(w, r))
	}
}

func (h *Handler) post(w http.ResponseWriter, r *http.Request, in *mcp.Incoming) {
	accepted, ok := h.guard.Accepts(w, r, web.TypeJSON, web.TypeEvents)
	if !ok {
		return
	}
	x := h.outgoing(w, r)
	x.accepts = accepted
	h.guard.Charge(&x.memory, in.Principal, in.Address)
	defer x.memory.Release()
	body, ok := h.guard.Message(w, r, &x.memory)
	if !ok {
		return
	}
	x.batch = jsonrpc.IsBatch(body)
	in.Body, in.Memory = body, &x.memory
	h.server.Post(r.Context(), in, x)
	x.end()
}

func (h *Handler) get(w http.ResponseWriter, r *http.Request, in *mcp.Incoming) {
	if _, ok := h.guard.Accepts(w, r, web.TypeEvents); !ok {
		return
	}
	x := h.outgoing(w, r)
	h.guard.Charge(&x.memory, in.Principal, in.Address)
	if in.LastEventID != "" {
		x.memory.Force(budget.Streams, web.StreamBytes) // What was admitted must not wait for its reader.
	} else if err := x.memory.Grow(budget.Streams, web.StreamBytes); err != nil {
		h.guard.Overloaded(w, err)
		return
	}
	in.Memory = &x.memory
	h.guard.Listen(w, r, func(ctx context.Context, l *web.Listener) {
		defer x.memory.Release()
		x.listener = l
		ctx, end := h.whileValid(ctx, in)
		defer end()
		h.server.Listen(ctx, in, x)
		x.end()
	})
}

// whileValid returns a context that also ends when the credentials of a request for a stream are
// found to be invalid, or to give other rights, until end is called. The stream of a call, which a
// client resumes, ends with its call instead.
func (h *Handler) whileValid(ctx context.Context, in *mcp.Incoming) (_ context.Context, end func()) {
	if in.LastEventID != "" {
		return ctx, func() {}
	}
	good, cancel := context.WithCancel(ctx)
	stop := h.guard.Watch(in.Header, in.Principal, func() {
		h.revoked.Add(1)
		cancel()
	})
	if stop == nil {
		cancel()
		return ctx, func() {}
	}
	return good, func() {
		stop()
		cancel()
	}
}

// Expired returns how many streams have ended because their caller's credentials were found to be
// invalid.
func (h *Handler) Expired() int64 { return h.revoked.Load() }

// Wait returns when no stream that a client opened by GET is left, or with the error of ctx. Call
// it after the http.Server was shut down, which does not wait for them.
func (h *Handler) Wait(ctx context.Context) error { return h.guard.Wait(ctx) }

func (h *Handler) outgoing(w http.ResponseWriter, r *http.Request) *outgoing {
	return &outgoing{w: w, guard: h.guard, path: r.URL.Path, accepted: acceptedStatus(r.Method), accepts: web.Accepted{JSON: true, Events: true}}
}
