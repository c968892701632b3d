// Package admin serves what operators and load balancers ask: liveness, readiness, metrics, and
// mcpedge.admin.v1 as REST. Nobody is authenticated here, so the listener stays on loopback unless told
// otherwise.
//
// To the rest of the edge the REST face is one more transport: what it calls and reads are messages of
// the newest stateless revision, sent in process to the era that serves them, from the principal admin.
package admin

import (
	"log/slog"
	"net/http"
	"net/http/pprof"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/transport/web"
)

// Readiness says whether traffic should come here. Safe for concurrent use.
type Readiness interface {
	// Ready returns nil when it should, else why not.
	Ready() error
}

// readyPath is where readiness is told.
const readyPath = "/readyz"

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
	// Level of the log, told and changed at /loglevel; nil: it is not served.
	Level *slog.LevelVar
	// Dev serves /dev, what is below it, and POST /v1/traces; nil: they are not served.
	Dev http.Handler
}

// New makes the handler: /healthz (the process lives) and /readyz (503 with the reason until it can
// serve, and again while it drains), which like /metrics may be asked by any name, and what the options
// say.
func New(ready Readiness, pool *backend.Pool, o Options) http.Handler {
	o.Web.Refusal = refusal
	g := guard{web.NewGuard(nil, o.Web)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("ok\n"))
	})
	mux.HandleFunc("GET "+readyPath, func(w http.ResponseWriter, _ *http.Request) {
		if err := ready.Ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ready\n"))
	})
	if o.Metrics != nil {
		mux.Handle("GET /metrics", o.Metrics)
	}
	g.mount(mux, ready, pool, o)
	return g.bound(mux)
}

// mount serves what not every web page may ask.
func (g guard) mount(mux *http.ServeMux, ready Readiness, pool *backend.Pool, o Options) {
	const reading = "GET, OPTIONS"
	if o.API != nil {
		mux.Handle("/v1/", g.admit("GET, POST, DELETE, OPTIONS", newGateway(ready, pool, o.API)))
		mux.Handle("/openapi.json", g.admit(reading, http.HandlerFunc(describe)))
	}
	if o.Dev != nil { // it has a guard of its own
		mux.Handle("/dev", o.Dev)
		mux.Handle("/dev/", o.Dev)
		mux.Handle("POST /v1/traces", o.Dev)
	}
	if o.Level != nil {
		mux.Handle("/loglevel", g.admit("GET, PUT, OPTIONS", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut {
				setLevel(w, r, o.Level)
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
