package web

import (
	"net/http"
	"strconv"
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

// The JSON-RPC codes of refusals by a transport itself: the request is invalid, its credentials are
// missing or invalid, its caller sends too much, or the edge cannot serve it now.
const (
	codeRefused         = -32600
	codeUnauthenticated = -31401
	codeLimit           = -31429
	codeNotNow          = -31503
)

// Authenticator derives the principal from a request's credentials. A nil Authenticator makes every
// caller anonymous. It is safe for concurrent use.
type Authenticator interface {
	// Authenticate returns the caller, or why its credentials are refused. It may block while it
	// asks an authorization server, until the request's context ends, and does not read the body.
	Authenticate(r *http.Request) (mcp.Principal, *Denial)
}

// Watcher is an Authenticator that detects when credentials that it accepted become invalid before
// their principal's expiry, or without one, or give other rights. It is safe for concurrent use.
type Watcher interface {
	// Watch calls fn, at most once, when it finds that the credentials in an Authorization header
	// have become invalid, or give other rights than p, which they were accepted as, until stop is
	// called. fn must not block. It returns nil if it cannot watch the credentials.
	Watch(authorization string, p mcp.Principal, fn func()) (stop func())
}

// Challenger is an Authenticator that makes the challenge for a request that was understood.
type Challenger interface {
	// Challenge returns the denial of a request to a path: 401 for an anonymous caller, else 403.
	Challenge(path string, c *mcp.Challenge) *Denial
}

// Denial is the response to a request whose credentials are refused.
type Denial struct {
	// Status is 400, 401, 403, 429 or 503.
	Status int
	// Message says what was wrong and what to do. It contains no part of a token.
	Message string
	// Challenges are the values of WWW-Authenticate (RFC 9110, section 11.6.1). Empty omits the
	// header.
	Challenges []string
	// Reason is a word for the reason, for metrics and records; Issuer is the configured issuer
	// that was asked. Both may be empty, and are not sent.
	Reason, Issuer string
	// Detail is for the log alone: values of the token and the accepted ones. It may be empty.
	Detail string
	// Caller is the principal of valid credentials that do not suffice, or has the issuer and name
	// of an API key that is refused. Missing are the scopes that valid credentials lack.
	Caller  mcp.Principal
	Missing []string
	// RetryAfter is when to retry after 429 or 503. 0 means one second.
	RetryAfter time.Duration
}

// Guard checks every request of an HTTP transport. It is safe for concurrent use.
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

// Admit checks host and origin (Transports, "Security Warning"), the credentials and the HTTP
// method, and answers a browser's preflight. allowed lists the methods as in an Allow header,
// including OPTIONS. false means that the request was answered.
func (g *Guard) Admit(w http.ResponseWriter, r *http.Request, allowed string) (mcp.Principal, bool) {
	if reason, why := g.policy.check(r); why != "" {
		if g.o.Refused != nil {
			g.o.Refused(r, reason, why)
		}
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
		p, denied := g.auth.Authenticate(r)
		if denied != nil {
			g.deny(w, denied)
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

// Watch implements mcp.Credentials if the authenticator is a Watcher.
func (g *Guard) Watch(h mcp.Header, p mcp.Principal, fn func()) (stop func()) {
	if w, ok := g.auth.(Watcher); ok && h != nil {
		return w.Watch(h.Get("Authorization"), p, fn)
	}
	return nil
}

// Token returns the access token, of the scheme Bearer or DPoP, of a request that was admitted for
// a principal. It returns none for the anonymous principal, and if tokens are not kept.
func (g *Guard) Token(r *http.Request, p mcp.Principal) mcp.Token {
	if !g.o.Tokens || p.Anonymous() {
		return mcp.Token{}
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") && !strings.EqualFold(scheme, "DPoP") {
		return mcp.Token{}
	}
	return mcp.NewToken(strings.Trim(token, " \t"))
}

// Challenge returns the denial for a response with a challenge to a request for a path; nil means
// that only the body has it.
func (g *Guard) Challenge(path string, c *mcp.Challenge) *Denial {
	if by, ok := g.auth.(Challenger); ok && c != nil {
		return by.Challenge(path, c)
	}
	return nil
}

// Challenge adds WWW-Authenticate to the headers of a response, once for each challenge.
func Challenge(w http.ResponseWriter, challenges []string) {
	for _, c := range challenges {
		w.Header().Add("WWW-Authenticate", c)
	}
}

// deny answers a request whose credentials are refused.
func (g *Guard) deny(w http.ResponseWriter, d *Denial) {
	Challenge(w, d.Challenges)
	RetryAfter(w, d.Status, d.RetryAfter)
	g.Refuse(w, d.Status, d.Message)
}

func lists(allowed, method string) bool {
	for m := range strings.SplitSeq(allowed, ",") {
		if strings.TrimSpace(m) == method {
			return true
		}
	}
	return false
}

// Refusal returns the body of a refusal: a JSON-RPC error without an id.
func Refusal(message string) []byte { return refusal(codeRefused, message) }

func refusal(code int, message string) []byte {
	return jsonrpc.AppendError(nil, jsonrpc.ID{}, code, message, nil)
}

// Refuse answers a request that the transport itself refuses.
func (g *Guard) Refuse(w http.ResponseWriter, status int, message string) {
	g.Answer(w, status, g.o.Refusal(status, message))
}

// Answer writes one JSON body, with Retry-After if the status calls for it.
func (g *Guard) Answer(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", TypeJSON)
	RetryAfter(w, status, 0)
	g.Deadline(w)
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// RefuseWhileStarting responds to a request that arrives before the server can serve, because its state cannot
// be reached.
func RefuseWhileStarting(w http.ResponseWriter) {
	w.Header().Set("Content-Type", TypeJSON)
	w.Header().Set("Connection", "close")
	RetryAfter(w, http.StatusServiceUnavailable, 0)
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = w.Write(refusal(codeNotNow, "this replica starts, and does not reach its state yet; retry, at another replica if there is one"))
}

// RetryAfter sets the header, unless it is set, for the statuses after which a client may retry: in
// whole seconds, at least one.
func RetryAfter(w http.ResponseWriter, status int, after time.Duration) {
	if (status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests) && w.Header().Get("Retry-After") == "" {
		seconds := max(1, (after+time.Second-1)/time.Second)
		w.Header().Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
	}
}

// Deadline bounds the next write. Every write sets it: on a kept connection the last one may have
// passed long ago. A recorder in tests has none.
func (g *Guard) Deadline(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(g.o.WriteTimeout))
}
