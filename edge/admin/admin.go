// Package admin serves the endpoints for operators and load balancers: liveness, readiness,
// metrics, and mcpedge.admin.v1 as REST. Without Options.Auth, every caller that reaches it may do
// everything, so the listener then stays on loopback unless configured otherwise.
//
// To the rest of the edge the REST API is one more transport: its calls and reads are messages of
// the newest stateless revision, sent in process to the era that serves them, from the principal
// authenticated here, or from the principal admin without authentication.
package admin

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"strings"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/transport/web"
)

// Readiness reports whether the edge should receive traffic. It must be safe for concurrent use.
type Readiness interface {
	// Ready returns nil if the edge is ready, and otherwise the reason for which it is not.
	Ready() error
}

// livePath serves liveness, and readyPath readiness.
const (
	livePath  = "/healthz"
	readyPath = "/readyz"
)

// JWKSPath serves the public keys.
const JWKSPath = "/.well-known/jwks.json"

// Options configure the endpoints in addition to liveness and readiness, and their authentication.
type Options struct {
	// Web bounds requests. It also has the hosts and origins that may call endpoints other than the
	// probes.
	Web web.Options
	// API is served below /v1/, with its description at /openapi.json; nil disables both.
	API *API
	// Profiles serves the profiles of the Go runtime at /debug/pprof/.
	Profiles bool
	// Metrics serves /metrics; nil disables it.
	Metrics http.Handler
	// Audit records what operators do; nil disables the records.
	Audit Auditor
	// Level is the level of the log, read and set at /loglevel; nil disables that path.
	Level *slog.LevelVar
	// ClientCertificates requires a client certificate for every path but the probes, /healthz and
	// /readyz, and JWKSPath. The listener must verify the certificates that clients send.
	ClientCertificates bool
	// Dev serves /dev, the paths below it, and POST /v1/traces. nil disables them.
	Dev http.Handler
	// JWKS returns the public keys with which backends verify callers' identities. They are served
	// at JWKSPath without authentication, because they are not secret. nil disables the path.
	JWKS func() []byte
	// Auth authenticates the callers of paths that are not open; nil allows every caller, as the
	// administrator.
	Auth web.Authenticator
	// Approvers authenticates the callers of the ApprovalService, instead of Auth. nil allows every
	// caller.
	Approvers web.Authenticator
	// LockProbes, LockMetrics and LockDev require authentication by Auth for liveness and
	// readiness, for Metrics, and for Dev, too.
	LockProbes, LockMetrics, LockDev bool
}

// New returns the handler of the admin address. It serves an index at /, /healthz (200 while the
// process runs), /readyz and the handlers of the options. /readyz responds with 503 and the reason
// until the edge is ready, and again while it drains. It also has the progress of backends whose
// description is still being read. Unless locked, /healthz, /readyz and /metrics accept any host
// name.
func New(ready Readiness, pool *backend.Pool, o Options) http.Handler {
	o.Web.Refusal = refusal
	g := guard{web.NewGuard(o.Auth, o.Web)}
	mux := http.NewServeMux()
	mux.Handle("GET "+livePath, g.admitIf(o.LockProbes, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("ok\n"))
	})))
	mux.Handle("GET "+readyPath, g.admitIf(o.LockProbes, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err := ready.Ready(); err != nil {
			http.Error(w, err.Error()+undescribed(pool), http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ready" + undescribed(pool) + "\n"))
	})))
	if o.JWKS != nil {
		mux.HandleFunc("GET "+JWKSPath, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/jwk-set+json") // RFC 7517, section 8.5.2
			w.Header().Set("Cache-Control", "public, max-age=30")
			_, _ = w.Write(o.JWKS())
		})
	}
	if o.Metrics != nil {
		mux.Handle("GET /metrics", g.admitIf(o.LockMetrics, o.Metrics))
	}
	g.mount(mux, ready, pool, o)
	if o.ClientCertificates {
		return g.limitWrites(g.requireClientCert(mux))
	}
	return g.limitWrites(mux)
}

// noMCP answers clients of MCP that were given the admin address, with a status and, unless it is
// empty, the methods of the path.
func (g guard) noMCP(status int, allowed string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if allowed != "" {
			w.Header().Set("Allow", allowed)
		}
		g.Refuse(w, status, "this is the admin address of an edge: MCP is at the address of --listen, such as http://127.0.0.1:8080/mcp")
	})
}

// undescribed returns a line for each backend whose description is still being read, each after a line
// break.
func undescribed(pool *backend.Pool) string {
	var lines strings.Builder
	for _, b := range pool.Backends() {
		if s := b.Status(); s.Progress != "" {
			fmt.Fprintf(&lines, "\nbackend %q: %s", s.Name, s.Progress)
		}
	}
	return lines.String()
}

// mount serves the endpoints that not every web page may call.
func (g guard) mount(mux *http.ServeMux, ready Readiness, pool *backend.Pool, o Options) {
	const reading = "GET, OPTIONS"
	mux.Handle("/{$}", g.admit(reading, index(o)))
	mux.Handle("POST /{$}", g.admit("POST", g.noMCP(http.StatusMethodNotAllowed, reading)))
	for _, path := range []string{"/mcp", "/mcp/", "/sse", "/message"} {
		mux.Handle(path, g.admit("GET, POST, DELETE, OPTIONS", g.noMCP(http.StatusNotFound, "")))
	}
	if o.API != nil {
		mux.Handle("/v1/", g.admit("GET, POST, DELETE, OPTIONS", newGateway(ready, pool, o.API, operations{o.Audit})))
		decisions := guard{web.NewGuard(o.Approvers, o.Web)}.admit("GET, POST, OPTIONS", newDecisions(o.API, operations{o.Audit}))
		mux.Handle(approvalsPath, decisions)
		mux.Handle(approvalsPath+"/", decisions)
		mux.Handle("/openapi.json", g.admit(reading, http.HandlerFunc(describe)))
	}
	if o.Dev != nil { // it has a guard of its own
		dev := o.Dev
		if o.LockDev {
			dev = g.authenticated(dev)
		}
		mux.Handle("/dev", dev)
		mux.Handle("/dev/", dev)
		mux.Handle("POST /v1/traces", dev)
	}
	if o.Level != nil {
		mux.Handle("/loglevel", g.admit("GET, PUT, OPTIONS", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut {
				setLevel(w, r, o.Level, operations{o.Audit})
				return
			}
			writeLevel(w, o.Level)
		})))
	}
	if o.Profiles {
		mux.Handle("/debug/pprof/", g.admit(reading, http.HandlerFunc(pprof.Index)))
		mux.Handle("/debug/pprof/profile", g.admit(reading, http.HandlerFunc(pprof.Profile)))
		mux.Handle("/debug/pprof/trace", g.admit(reading, http.HandlerFunc(pprof.Trace)))
	}
}
