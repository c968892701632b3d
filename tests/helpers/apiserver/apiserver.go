// Package apiserver simulates a Kubernetes API server for clients that list and watch Services and
// EndpointSlices.
package apiserver

import (
	"encoding/json"
	"encoding/pem"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/mcpedge/mcpedge/edge/kubernetes/api"
)

// Server serves lists and watches of Services and EndpointSlices. It is safe for concurrent use.
type Server struct {
	http      *httptest.Server
	config    api.Config
	mu        sync.Mutex
	version   int
	objects   map[string]*object // by resource, namespace and name
	events    []event
	forgotten int           // the version up to which events are forgotten
	ending    int           // how often watches were ended
	grown     chan struct{} // closed when there is something for watches to do
	away      bool
	requests  []Request
}

// object is one version of an object. It is immutable.
type object struct {
	fields map[string]any
	labels map[string]string
}

// event is one change. Events are in order of their versions.
type event struct {
	version     int
	key         string
	before, now *object // nil: it was not there
}

// Request is a request to the server.
type Request struct {
	// Verb is list or watch.
	Verb string
	// Path is the path, Selector the label selector.
	Path, Selector string
	// Continue is the token of a page of a list, Version the version after which a watch begins.
	Continue, Version string
	// Token is the bearer token.
	Token string
}

// Start starts an empty server that runs until the test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	s := prepare(t)
	s.http.Start()
	s.config.URL = s.http.URL
	return s
}

// StartTLS starts an empty server with TLS and HTTP/2. Its Config has the file of the CA that verifies it.
func StartTLS(t testing.TB) *Server {
	t.Helper()
	s := prepare(t)
	s.http.EnableHTTP2 = true
	s.http.StartTLS()
	s.config = api.Config{URL: s.http.URL, CAFile: filepath.Join(t.TempDir(), "ca.crt")}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.http.Certificate().Raw})
	if err := os.WriteFile(s.config.CAFile, ca, 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// prepare returns an empty server that is not started.
func prepare(t testing.TB) *Server {
	s := &Server{objects: map[string]*object{}, grown: make(chan struct{})}
	s.http = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		s.GoAway(true)
		s.http.Close()
	})
	return s
}

// Config returns the configuration of a client of the server.
func (s *Server) Config() *api.Config {
	c := s.config
	return &c
}

// Handler returns the server's handler, for tests that put another handler in front of it.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serve) }

// GoAway makes the server refuse all requests and close open ones, or serve again.
func (s *Server) GoAway(away bool) {
	s.mu.Lock()
	s.away = away
	s.wake()
	s.mu.Unlock()
	if away {
		s.http.CloseClientConnections()
	}
}

// EndWatches ends all watches with a bookmark, as at their timeout.
func (s *Server) EndWatches() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ending++
	s.wake()
}

// Forget drops the history of changes: a watch from an older version is refused.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events, s.forgotten = nil, s.version
}

// wake makes the watches read the new events. The caller holds s.mu.
func (s *Server) wake() {
	close(s.grown)
	s.grown = make(chan struct{})
}

// kinds are the resources with the group and the kind of their objects.
var kinds = map[string][2]string{"services": {"v1", "Service"}, "endpointslices": {"discovery.k8s.io/v1", "EndpointSlice"}}

// keyOf returns the key of a *api.Service or *api.EndpointSlice.
func keyOf(o metaObject) string {
	resource := "services"
	if _, ok := o.(*api.EndpointSlice); ok {
		resource = "endpointslices"
	}
	return resource + "/" + o.Meta().Namespace + "/" + o.Meta().Name
}

// metaObject is an api.Object.
type metaObject interface{ Meta() *api.Metadata }

// Put adds or replaces a *api.Service or *api.EndpointSlice.
func (s *Server) Put(o metaObject) {
	text, err := json.Marshal(o)
	now := &object{labels: maps.Clone(o.Meta().Labels)}
	if err == nil {
		err = json.Unmarshal(text, &now.fields)
	}
	if err != nil {
		panic(err) // They are plain structs.
	}
	s.change(keyOf(o), now)
}

// Remove removes a *api.Service or *api.EndpointSlice.
func (s *Server) Remove(o metaObject) { s.change(keyOf(o), nil) }

func (s *Server) change(key string, now *object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	s.events = append(s.events, event{version: s.version, key: key, before: s.objects[key], now: now})
	if now != nil {
		now.fields["metadata"].(map[string]any)["resourceVersion"] = strconv.Itoa(s.version)
		s.objects[key] = now
	} else {
		delete(s.objects, key)
	}
	s.wake()
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/") // api v1 namespaces NS services
	if len(parts) < 4 || kinds[parts[len(parts)-1]][0] == "" {
		http.NotFound(w, r)
		return
	}
	resource, namespace, q := parts[len(parts)-1], parts[len(parts)-2], r.URL.Query()
	asked := Request{
		Verb: "list", Path: r.URL.Path, Selector: q.Get("labelSelector"), Continue: q.Get("continue"), Version: q.Get("resourceVersion"),
		Token: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "),
	}
	if q.Get("watch") == "true" {
		asked.Verb = "watch"
	}
	s.mu.Lock()
	s.requests = append(s.requests, asked)
	away, ending := s.away, s.ending // Who has seen the request can end its watch.
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case away:
		w.WriteHeader(http.StatusServiceUnavailable)
	case asked.Verb == "watch":
		s.watch(w, r, resource, resource+"/"+namespace+"/", asked, ending)
	default:
		limit, _ := strconv.Atoi(q.Get("limit"))
		s.list(w, resource, resource+"/"+namespace+"/", asked, limit)
	}
}

// matches reports whether an object has the labels of a selector: "name=value", with commas between them.
func (o *object) matches(selector string) bool {
	if o == nil {
		return false
	}
	for want := range strings.SplitSeq(selector, ",") {
		name, value, _ := strings.Cut(want, "=")
		if has, ok := o.labels[name]; want != "" && (!ok || has != value) {
			return false
		}
	}
	return true
}

// list responds with a page of the objects in the order of their names: at most limit of them, unless limit is 0.
func (s *Server) list(w http.ResponseWriter, resource, prefix string, asked Request, limit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	metadata := map[string]any{"resourceVersion": strconv.Itoa(s.version)}
	items := []map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(s.objects)) {
		if o := s.objects[key]; strings.HasPrefix(key, prefix) && key > asked.Continue && o.matches(asked.Selector) {
			if limit > 0 && len(items) == limit {
				break
			}
			items = append(items, o.fields)
			metadata["continue"] = key
		}
	}
	if limit == 0 || len(items) < limit {
		delete(metadata, "continue")
	}
	_ = json.NewEncoder(w).Encode(map[string]any{
		"kind": kinds[resource][1] + "List", "apiVersion": kinds[resource][0], "metadata": metadata, "items": items,
	})
}

func (s *Server) watch(w http.ResponseWriter, r *http.Request, resource, prefix string, asked Request, ending int) {
	from, _ := strconv.Atoi(asked.Version)
	tell := func(kind string, fields map[string]any) {
		o := maps.Clone(fields)
		o["apiVersion"], o["kind"] = kinds[resource][0], kinds[resource][1]
		_ = json.NewEncoder(w).Encode(map[string]any{"type": kind, "object": o})
	}
	_ = http.NewResponseController(w).Flush()
	for {
		s.mu.Lock()
		grown, away, end, tooOld := s.grown, s.away, s.ending != ending, from < s.forgotten
		var due []event
		for _, e := range s.events {
			if e.version > from && strings.HasPrefix(e.key, prefix) {
				due = append(due, e)
			}
		}
		version := s.version
		s.mu.Unlock()
		if away {
			return
		}
		if tooOld {
			_ = json.NewEncoder(w).Encode(map[string]any{"type": "ERROR", "object": map[string]any{
				"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired", "code": http.StatusGone, "message": "too old resource version",
			}})
			return
		}
		from = version
		for _, e := range due {
			if kind, o := e.forSelector(asked.Selector); kind != "" {
				tell(kind, o.at(e.version))
			}
		}
		if end {
			tell("BOOKMARK", map[string]any{"metadata": map[string]any{"resourceVersion": strconv.Itoa(version)}})
			return
		}
		_ = http.NewResponseController(w).Flush()
		select {
		case <-grown:
		case <-r.Context().Done():
			return
		}
	}
}

// at returns the JSON of an object in an event of a version.
func (o *object) at(version int) map[string]any {
	fields := maps.Clone(o.fields)
	metadata := maps.Clone(fields["metadata"].(map[string]any))
	metadata["resourceVersion"] = strconv.Itoa(version)
	fields["metadata"] = metadata
	return fields
}

// forSelector returns the event that a watch with a selector gets, with its object. kind is empty if it gets none.
func (e *event) forSelector(selector string) (kind string, o *object) {
	switch was, is := e.before.matches(selector), e.now.matches(selector); {
	case !was && is:
		return "ADDED", e.now
	case was && is:
		return "MODIFIED", e.now
	case was:
		return "DELETED", e.before
	}
	return "", nil
}

// Requests returns the requests so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Asked counts the requests of a verb for a path.
func (s *Server) Asked(verb, path string) (n int) {
	for _, r := range s.Requests() {
		if r.Verb == verb && r.Path == path {
			n++
		}
	}
	return n
}

// AskedFor reports whether a path was requested with a label selector.
func (s *Server) AskedFor(path string) bool {
	return slices.ContainsFunc(s.Requests(), func(r Request) bool { return r.Path+" "+r.Selector == path })
}
