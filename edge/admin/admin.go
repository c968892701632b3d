// Package admin serves what operators and load balancers ask: liveness, readiness, metrics, and
// mcpedge.admin.v1 as REST. Unless the options say who may, everybody who reaches it may do everything, so the listener
// then stays on loopback unless told otherwise.
//
// To the rest of the edge the REST face is one more transport: what it calls and reads are messages of
// the newest stateless revision, sent in process to the era that serves them, from the principal who is authenticated here
// or, where nobody is, from the principal admin.
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

// Readiness says whether traffic should come here. Safe for concurrent use.
type Readiness interface {
	// Ready returns nil when it should, else why not.
	Ready() error
}

// livePath is where it is told that the process lives, readyPath where readiness is.
const (
	livePath  = "/healthz"
	readyPath = "/readyz"
)

// JWKSPath is where the public keys are told.
const JWKSPath = "/.well-known/jwks.json"

// Options are what is served beside liveness and readiness, and to whom.
type Options struct {
	// Web bounds requests, and says which hosts and origins may call what is more than a probe.
	Web web.Options
	// API is served below /v1/, with its description at /openapi.json; nil: it is not.
	API *API
	// Profiles serves the Go runtime's at /debug/pprof/.
	Profiles bool
	// Metrics serves /metrics; nil: it is not served.
	Metrics http.Handler
	// Audit records what operators do; nil: nothing is recorded.
	Audit Auditor
	// Level of the log, told and changed at /loglevel; nil: it is not served.
	Level *slog.LevelVar
	// ClientCertificates has all but the probes, /healthz and /readyz, and JWKSPath demand a client certificate. The listener must
	// verify those that clients give.
	ClientCertificates bool
	// Dev serves /dev, what is below it, and POST /v1/traces; nil: they are not served.
	Dev http.Handler
	// JWKS gives the public keys with which backends verify who is calling, served at JWKSPath to everybody, as they are no
	// secret; nil: it is not served.
	JWKS func() []byte
	// Auth says who may use what is not open; nil: everybody, as the administrator.
	Auth web.Authenticator
	// LockProbes, LockMetrics and LockDev have Auth asked for liveness and readiness, for Metrics, and for Dev, too.
	LockProbes, LockMetrics, LockDev bool
}

// New makes the handler: an index at /, /healthz (the process lives) and /readyz (503 with the reason until it can
// serve, and again while it drains; with the progress of backends that are being learned), which like /metrics may be asked by any name, and what the options
// say.
func New(ready Readiness, pool *backend.Pool, o Options) http.Handler {
	o.Web.Refusal = refusal
	g := guard{web.NewGuard(o.Auth, o.Web)}
	mux := http.NewServeMux()
	mux.Handle("GET "+livePath, g.admitIf(o.LockProbes, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("ok\n"))
	})))
	mux.Handle("GET "+readyPath, g.admitIf(o.LockProbes, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err := ready.Ready(); err != nil {
			http.Error(w, err.Error()+learning(pool), http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ready" + learning(pool) + "\n"))
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
		return g.bound(g.certified(mux))
	}
	return g.bound(mux)
}

// learning is a line for each backend that is being learned, each behind a line break.
func learning(pool *backend.Pool) string {
	var lines strings.Builder
	for _, b := range pool.Backends() {
		if s := b.Status(); s.Progress != "" {
			fmt.Fprintf(&lines, "\nbackend %q: %s", s.Name, s.Progress)
		}
	}
	return lines.String()
}

// mount serves what not every web page may ask.
func (g guard) mount(mux *http.ServeMux, ready Readiness, pool *backend.Pool, o Options) {
	const reading = "GET, OPTIONS"
	mux.Handle("/{$}", g.admit(reading, index(o)))
	if o.API != nil {
		mux.Handle("/v1/", g.admit("GET, POST, DELETE, OPTIONS", newGateway(ready, pool, o.API, operations{o.Audit})))
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
			tellLevel(w, o.Level)
		})))
	}
	if o.Profiles {
		mux.Handle("/debug/pprof/", g.admit(reading, http.HandlerFunc(pprof.Index)))
		mux.Handle("/debug/pprof/profile", g.admit(reading, http.HandlerFunc(pprof.Profile)))
		mux.Handle("/debug/pprof/trace", g.admit(reading, http.HandlerFunc(pprof.Trace)))
	}
}
