// Package admin serves what operators and load balancers ask: liveness, readiness and the state of
// the backends. It stays on loopback unless told otherwise.
package admin

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/mcpedge/mcpedge/edge/backend"
)

// Readiness says whether traffic should come here. Safe for concurrent use.
type Readiness interface {
	// Ready returns nil when it should, else why not.
	Ready() error
}

// readyPath is where readiness is told.
const readyPath = "/readyz"

// Options are what the listener serves beside the state of the edge.
type Options struct {
	// Profiles serves the Go runtime's at /debug/pprof/.
	Profiles bool
	// Metrics serves /metrics; nil: it is not served.
	Metrics http.Handler
	// Level of the log, told and changed at /loglevel; nil: it is not served.
	Level *slog.LevelVar
}

// New makes the handler: /healthz (the process lives), /readyz (503 with the reason until it can
// serve, and again while it drains), /backends (what each backend is doing, as JSON) and what the
// options say.
func New(ready Readiness, pool *backend.Pool, o Options) http.Handler {
	mux := http.NewServeMux()
	if o.Metrics != nil {
		mux.Handle("GET /metrics", o.Metrics)
	}
	if o.Level != nil {
		mux.HandleFunc("GET /loglevel", func(w http.ResponseWriter, _ *http.Request) { tellLevel(w, o.Level) })
		mux.HandleFunc("PUT /loglevel", func(w http.ResponseWriter, r *http.Request) { setLevel(w, r, o.Level) })
	}
	if o.Profiles {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
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
	mux.HandleFunc("GET /backends", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		_ = enc.Encode(map[string]any{"backends": backends(pool)})
	})
	return mux
}

// backendView is one backend as /backends shows it.
type backendView struct {
	Name      string    `json:"name"`
	Prefix    string    `json:"prefix,omitempty"`
	State     string    `json:"state"`
	Since     time.Time `json:"since"`
	LastError string    `json:"lastError,omitempty"`
	Problems  []string  `json:"problems,omitempty"`
	Tools     int       `json:"tools"`
	Resources int       `json:"resources"`
	Templates int       `json:"templates"`
	Prompts   int       `json:"prompts"`
}

func backends(pool *backend.Pool) []backendView {
	views := []backendView{}
	for _, b := range pool.Backends() {
		s, c := b.Status(), b.Catalog()
		views = append(views, backendView{
			Name: b.Name(), Prefix: b.Prefix(), State: s.State.String(), Since: s.Since,
			LastError: s.LastError, Problems: s.Problems,
			Tools: len(c.Tools), Resources: len(c.Resources), Templates: len(c.Templates), Prompts: len(c.Prompts),
		})
	}
	return views
}
