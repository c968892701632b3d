package web

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Media types of the transports.
const (
	TypeJSON   = "application/json"
	TypeEvents = "text/event-stream"
)

// The JSON-RPC codes in the body of what a transport itself refuses: it is an invalid request, or the edge cannot
// serve it now.
const (
	codeRefused = -32600
	codeNotNow  = -31503
)

// Authenticator turns a request's credentials into a principal. A nil Authenticator makes everybody
// anonymous.
type Authenticator interface {
	// Authenticate returns false when it refused the request and answered it itself.
	Authenticate(w http.ResponseWriter, r *http.Request) (mcp.Principal, bool)
}

// Guard is what every request of an HTTP transport passes first. Safe for concurrent use.
type Guard struct {
	auth   Authenticator
	o      Options
	policy callerPolicy
	// listening counts the exchanges of Listen.
	listening sync.WaitGroup
}

// NewGuard makes a guard. auth may be nil.
func NewGuard(auth Authenticator, o Options) *Guard {
	return &Guard{auth: auth, o: o.withDefaults(), policy: newCallerPolicy(o)}
}

// Admit checks host and origin (Transports, "Security Warning"), the credentials and the HTTP method,
// and answers a browser's preflight. allowed are the methods as in an Allow header, OPTIONS included.
// False: the request was answered.
func (g *Guard) Admit(w http.ResponseWriter, r *http.Request, allowed string) (mcp.Principal, bool) {
	if why := g.policy.check(r); why != "" {
		g.Refuse(w, http.StatusForbidden, why)
		return mcp.Principal{}, false
	}
	g.policy.cors(w, r)
	if r.Method == http.MethodOptions {
		preflight(w, r, allowed)
		return mcp.Principal{}, false
	}
	principal := mcp.Principal{}
	if g.auth != nil {
		p, ok := g.auth.Authenticate(w, r)
		if !ok {
			return mcp.Principal{}, false
		}
		principal = p
	}
	if !lists(allowed, r.Method) {
		w.Header().Set("Allow", allowed)
		g.Refuse(w, http.StatusMethodNotAllowed, "method "+Quoted(r.Method)+" is not served here: use one of "+allowed)
		return mcp.Principal{}, false
	}
	return principal, true
}

func lists(allowed, method string) bool {
	for m := range strings.SplitSeq(allowed, ",") {
		if strings.TrimSpace(m) == method {
			return true
		}
	}
	return false
}

// Refusal is the body of what a transport refuses: a JSON-RPC error without an id.
func Refusal(message string) []byte { return refusal(codeRefused, message) }

func refusal(code int, message string) []byte {
	return jsonrpc.AppendError(nil, jsonrpc.ID{}, code, message, nil)
}

// Refuse answers what the transport itself does not let through.
func (g *Guard) Refuse(w http.ResponseWriter, status int, message string) {
	g.Answer(w, status, g.o.Refusal(status, message))
}

// Answer writes one JSON body and says when to come back where the status asks for it.
func (g *Guard) Answer(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", TypeJSON)
	RetryAfter(w, status)
	g.Deadline(w)
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// RetryAfter sets the header for the statuses after which a client may try again.
func RetryAfter(w http.ResponseWriter, status int) {
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
}

// Deadline bounds the write that follows. Every write sets it: on a kept connection the one before
// it may have passed long ago. A recorder in tests has none.
func (g *Guard) Deadline(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(g.o.WriteTimeout))
}
