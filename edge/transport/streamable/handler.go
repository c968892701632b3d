package streamable

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Server is what the transport hands its exchanges to. Each method ends the exchange before it returns.
type Server interface {
	Post(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing)
	Listen(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing)
	End(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing)
}

// Authenticator turns a request's credentials into a principal. A nil Authenticator makes everybody
// anonymous.
type Authenticator interface {
	// Authenticate returns false when it refused the request and answered it itself.
	Authenticate(w http.ResponseWriter, r *http.Request) (mcp.Principal, bool)
}

const (
	headerSession     = "Mcp-Session-Id"
	headerLastEventID = "Last-Event-Id"
	allowed           = "GET, POST, DELETE, OPTIONS"
	typeJSON          = "application/json"
	typeEvents        = "text/event-stream"

	// codeRefused is the JSON-RPC code (invalid request) in the body of what the transport itself refuses.
	codeRefused = -32600
)

// Handler serves one MCP endpoint. Safe for concurrent use.
type Handler struct {
	server Server
	auth   Authenticator
	opts   Options
	gate   gate
}

var _ http.Handler = (*Handler)(nil)

// New makes the endpoint's handler. auth may be nil.
func New(s Server, auth Authenticator, o Options) *Handler {
	return &Handler{server: s, auth: auth, opts: o.withDefaults(), gate: newGate(o)}
}

// ServeHTTP serves POST, GET, DELETE and OPTIONS.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if why := h.gate.check(r); why != "" {
		h.refuse(w, http.StatusForbidden, why)
		return
	}
	h.gate.cors(w, r)
	if r.Method == http.MethodOptions {
		preflight(w, r)
		return
	}
	principal := mcp.Principal{}
	if h.auth != nil {
		p, ok := h.auth.Authenticate(w, r)
		if !ok {
			return
		}
		principal = p
	}
	in := &mcp.Incoming{
		Header: r.Header, Principal: principal,
		Session: r.Header.Get(headerSession), LastEventID: r.Header.Get(headerLastEventID),
	}
	switch r.Method {
	case http.MethodPost:
		h.post(w, r, in)
	case http.MethodGet:
		h.get(w, r, in)
	case http.MethodDelete:
		h.server.End(r.Context(), in, &exchange{w: w, opts: &h.opts, accepted: http.StatusNoContent})
	default:
		w.Header().Set("Allow", allowed)
		h.refuse(w, http.StatusMethodNotAllowed, "method "+quoted(r.Method)+" is not served here: use POST, GET or DELETE")
	}
}

func (h *Handler) post(w http.ResponseWriter, r *http.Request, in *mcp.Incoming) {
	if why := contentType(r.Header); why != "" {
		h.refuse(w, http.StatusUnsupportedMediaType, why)
		return
	}
	if !accepts(r.Header, typeJSON, typeEvents) {
		h.refuse(w, http.StatusNotAcceptable, "Accept must name "+typeJSON+" and "+typeEvents)
		return
	}
	body, err := h.body(w, r)
	if err != nil {
		h.refuseBody(w, err)
		return
	}
	in.Body = body
	h.server.Post(r.Context(), in, &exchange{w: w, opts: &h.opts, accepted: http.StatusAccepted})
}

func (h *Handler) get(w http.ResponseWriter, r *http.Request, in *mcp.Incoming) {
	if !accepts(r.Header, typeEvents) {
		h.refuse(w, http.StatusNotAcceptable, "Accept must name "+typeEvents)
		return
	}
	h.server.Listen(r.Context(), in, &exchange{w: w, opts: &h.opts, accepted: http.StatusAccepted})
}

// body reads the whole body into memory of its own: what outlives the exchange may keep aliasing it.
// The read deadline is lifted only once the body is whole: the server would wait for the rest of it.
func (h *Handler) body(w http.ResponseWriter, r *http.Request) (body []byte, err error) {
	limit := h.opts.MaxBody
	if r.ContentLength > limit {
		return nil, &http.MaxBytesError{Limit: limit}
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(h.opts.ReadTimeout))
	if r.ContentLength > 0 {
		body = make([]byte, r.ContentLength)
		_, err = io.ReadFull(r.Body, body)
	} else {
		body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	}
	if err == nil {
		_ = control.SetReadDeadline(time.Time{})
	}
	return body, err
}

func (h *Handler) refuseBody(w http.ResponseWriter, err error) {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		w.Header().Set("Connection", "close")
		h.refuse(w, http.StatusRequestEntityTooLarge, "the body is too large: the limit is "+bytesText(tooLarge.Limit))
		return
	}
	w.Header().Set("Connection", "close")
	h.refuse(w, http.StatusBadRequest, "the body could not be read whole within "+h.opts.ReadTimeout.String())
}

// contentType returns what is wrong with the type of a POST's body; empty: nothing.
func contentType(h http.Header) string {
	ct := h.Get("Content-Type")
	if ct != typeJSON {
		media, params, err := mime.ParseMediaType(ct)
		if err != nil || media != typeJSON {
			return "content type " + quoted(ct) + " is not served here: send " + typeJSON
		}
		if cs, ok := params["charset"]; ok && !strings.EqualFold(cs, "utf-8") {
			return "charset " + quoted(cs) + " is not served here: send UTF-8"
		}
	}
	if enc := h.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return "content encoding " + quoted(enc) + " is not served here: send the body as it is"
	}
	return ""
}

// accepts is lenient: without an Accept header anything goes, and one of the types, or a wildcard over
// one, is enough.
func accepts(h http.Header, types ...string) bool {
	values := h.Values("Accept")
	if len(values) == 0 {
		return true
	}
	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			media, _, _ := strings.Cut(part, ";")
			media = strings.ToLower(strings.TrimSpace(media))
			for _, t := range types {
				major, _, _ := strings.Cut(t, "/")
				if media == t || media == "*/*" || media == major+"/*" {
					return true
				}
			}
		}
	}
	return false
}

// refuse answers what the transport itself does not let through, as a JSON-RPC error without id.
func (h *Handler) refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", typeJSON)
	setDeadline(w, &h.opts)
	w.WriteHeader(status)
	_, _ = w.Write(jsonrpc.AppendError(nil, jsonrpc.ID{}, codeRefused, message, nil))
}
