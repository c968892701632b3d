package dev

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"net/http"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/mcpedge/mcpedge/edge/transport/web"
)

//go:embed page
var files embed.FS

// policy allows the page to load only what this process serves, and to run no inline scripts.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// maxStreams is the maximum number of open pages.
const maxStreams = 16

type handler struct {
	store   *Store
	board   *board
	guard   *web.Guard
	streams chan struct{}
}

// Handler serves the contents of a Store, and the tasks of this replica. replica is its name; a nil
// t means that there are no tasks.
//
//	GET  /dev             the page
//	GET  /dev/calls       the calls and tasks, latest first, as JSON
//	GET  /dev/calls/{id}  the waterfall of a call
//	GET  /dev/tasks/{id}  the runs of a task
//	GET  /dev/events      the calls and tasks as Server-Sent Events: first all, then changes
//	POST /v1/traces       spans of other processes, by OTLP/HTTP
//
// hosts are the names that the Host header may have. Requests with another host or origin are
// refused; refused is as web.Options.Refused. The streams end with the contexts of their requests.
func Handler(s *Store, t Tasks, replica string, hosts []string, refused func(r *http.Request, reason, message string)) http.Handler {
	h := &handler{store: s, board: &board{from: t, replica: replica}, guard: web.NewGuard(nil, web.Options{Hosts: hosts, Refused: refused}), streams: make(chan struct{}, maxStreams)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /dev", h.file("index.html", "text/html; charset=utf-8"))
	mux.HandleFunc("GET /dev/{$}", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/dev", http.StatusMovedPermanently) })
	for _, name := range []string{"page.js", "list.js", "waterfall.js", "task.js", "head.js", "scale.js", "span.js", "keys.js", "dom.js"} {
		mux.HandleFunc("GET /dev/"+name, h.file(name, "text/javascript; charset=utf-8"))
	}
	mux.HandleFunc("GET /dev/page.css", h.file("page.css", "text/css; charset=utf-8"))
	mux.HandleFunc("GET /dev/icon.svg", h.file("icon.svg", "image/svg+xml"))
	mux.HandleFunc("GET /dev/calls", h.list)
	mux.HandleFunc("GET /dev/calls/{id}", h.one)
	mux.HandleFunc("GET /dev/tasks/{id}", h.task)
	mux.HandleFunc("GET /dev/events", h.events)
	mux.HandleFunc("POST /v1/traces", h.export)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := h.guard.Admit(w, r, "GET, HEAD, POST, OPTIONS"); !ok {
			return
		}
		head := w.Header()
		head.Set("Content-Security-Policy", policy)
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("Referrer-Policy", "no-referrer")
		head.Set("Cache-Control", "no-store")
		mux.ServeHTTP(w, r)
	})
}

// file serves an embedded file.
func (h *handler) file(name, kind string) http.HandlerFunc {
	content, err := files.ReadFile(path.Join("page", name))
	if err != nil {
		panic(err) // the build fails if the file is not embedded
	}
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
	}
}

// listing holds all calls and tasks.
type listing struct {
	Calls []summary `json:"calls"`
	// Dropped is the number of spans dropped because of the limits.
	Dropped uint64 `json:"dropped"`
}

func (h *handler) listing(ctx context.Context) listing {
	known, now := h.board.tasks(ctx), time.Now()
	p := arrange(h.store.snapshot())
	out := listing{Calls: make([]summary, 0, len(p.calls)+len(known)), Dropped: p.dropped}
	for _, c := range p.calls {
		out.Calls = append(out.Calls, p.summary(c, now))
	}
	for _, t := range known {
		out.Calls = append(out.Calls, summaryOf(t, now))
	}
	slices.SortStableFunc(out.Calls, func(a, b summary) int { return cmp.Compare(b.Start, a.Start) })
	return out
}

func (h *handler) list(w http.ResponseWriter, r *http.Request) {
	h.answer(w, h.listing(r.Context()))
}

func (h *handler) one(w http.ResponseWriter, r *http.Request) {
	id, ok := parseKey(r.PathValue("id"))
	if !ok {
		http.Error(w, "a call's id is TRACE-SPAN in hexadecimal: take one of /dev/calls", http.StatusBadRequest)
		return
	}
	p := arrange(h.store.snapshot())
	for _, c := range p.calls {
		for _, op := range c.ops { // the id of any round identifies the call
			if op.key == id {
				h.answer(w, p.waterfall(c, time.Now()))
				return
			}
		}
	}
	http.Error(w, "no call "+strconv.Quote(id.String())+" is kept: it may have been dropped for newer ones", http.StatusNotFound)
}

func (h *handler) answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	h.guard.Deadline(w)
	_ = json.NewEncoder(w).Encode(body) // fails only if the client has disconnected
}
