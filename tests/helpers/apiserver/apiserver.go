// Package apiserver is an API server of Kubernetes, as far as one notices who lists and watches Services and EndpointSlices.
package apiserver

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
)

// Server lists and watches Services and EndpointSlices. Safe for concurrent use.
type Server struct {
	http    *httptest.Server
	mu      sync.Mutex
	version int
	objects map[string]metav1.Object // by kind, namespace and name
	events  []event
	grown   chan struct{} // closed when events grow, or the server goes
	away    bool
	asked   []string // paths, with their label selectors
}

// event is a change, in order of its version.
type event struct {
	version     int
	key         string
	before, now metav1.Object // nil: it was not there
}

// Start starts one, empty, until the test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{objects: map[string]metav1.Object{}, grown: make(chan struct{})}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		s.GoAway(true)
		s.http.Close()
	})
	return s
}

// Config is how a client reaches it.
func (s *Server) Config() *rest.Config { return &rest.Config{Host: s.http.URL} }

// GoAway has the server refuse everything, and cut what is open; or serve again.
func (s *Server) GoAway(away bool) {
	s.mu.Lock()
	s.away = away
	s.wake()
	s.mu.Unlock()
	if away {
		s.http.CloseClientConnections()
	}
}

// wake has the watches look. s.mu is locked.
func (s *Server) wake() {
	close(s.grown)
	s.grown = make(chan struct{})
}

func keyOf(o metav1.Object) string {
	kind := "services"
	if _, ok := o.(*discoveryv1.EndpointSlice); ok {
		kind = "endpointslices"
	}
	return kind + "/" + o.GetNamespace() + "/" + o.GetName()
}

// Put makes or replaces an object.
func (s *Server) Put(o metav1.Object) { s.change(keyOf(o), o) }

// Remove removes one.
func (s *Server) Remove(o metav1.Object) { s.change(keyOf(o), nil) }

func (s *Server) change(key string, o metav1.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	e := event{version: s.version, key: key, before: s.objects[key], now: o}
	if o != nil {
		o.SetResourceVersion(strconv.Itoa(s.version))
		s.objects[key] = o
	} else {
		delete(s.objects, key)
	}
	s.events = append(s.events, e)
	s.wake()
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/") // api v1 namespaces NS services
	if len(parts) < 4 {
		http.NotFound(w, r)
		return
	}
	kind, namespace := parts[len(parts)-1], parts[len(parts)-2]
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	s.mu.Lock()
	s.asked = append(s.asked, r.URL.Path+" "+selector.String())
	away := s.away
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case away:
		w.WriteHeader(http.StatusServiceUnavailable)
	case err != nil:
		w.WriteHeader(http.StatusBadRequest)
	case r.URL.Query().Get("sendInitialEvents") == "true": // as servers that do not know it
		w.WriteHeader(http.StatusUnprocessableEntity)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonInvalid,
			Code: http.StatusUnprocessableEntity, Message: "sendInitialEvents is forbidden",
		})
	case r.URL.Query().Get("watch") == "true":
		s.watch(w, r, kind+"/"+namespace+"/", selector)
	default:
		s.list(w, kind, kind+"/"+namespace+"/", selector)
	}
}

func (s *Server) list(w http.ResponseWriter, kind, prefix string, selector labels.Selector) {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := map[string]string{"services": "ServiceList", "endpointslices": "EndpointSliceList"}
	groups := map[string]string{"services": "v1", "endpointslices": "discovery.k8s.io/v1"}
	items := []metav1.Object{}
	for key, o := range s.objects {
		if strings.HasPrefix(key, prefix) && selector.Matches(labels.Set(o.GetLabels())) {
			items = append(items, o)
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{
		"kind": names[kind], "apiVersion": groups[kind], "metadata": map[string]any{"resourceVersion": strconv.Itoa(s.version)}, "items": items,
	})
}

func (s *Server) watch(w http.ResponseWriter, r *http.Request, prefix string, selector labels.Selector) {
	from, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	_ = http.NewResponseController(w).Flush()
	for {
		s.mu.Lock()
		grown, away := s.grown, s.away
		var due []event
		for _, e := range s.events {
			if e.version > from && strings.HasPrefix(e.key, prefix) {
				due = append(due, e)
			}
		}
		from = s.version
		s.mu.Unlock()
		if away {
			return
		}
		for _, e := range due {
			if kind, object := e.tell(selector); kind != "" {
				_ = json.NewEncoder(w).Encode(map[string]any{"type": kind, "object": typed(object)})
			}
		}
		_ = http.NewResponseController(w).Flush()
		select {
		case <-grown:
		case <-r.Context().Done():
			return
		}
	}
}

// tell is what a watch with a selector is told of an event.
func (e *event) tell(selector labels.Selector) (kind string, object metav1.Object) {
	has := func(o metav1.Object) bool { return o != nil && selector.Matches(labels.Set(o.GetLabels())) }
	switch was, is := has(e.before), has(e.now); {
	case !was && is:
		return "ADDED", e.now
	case was && is:
		return "MODIFIED", e.now
	case was:
		return "DELETED", e.before
	}
	return "", nil
}

// typed is an object with its kind, which the ones in lists go without.
func typed(o metav1.Object) any {
	switch o := o.(type) {
	case *corev1.Service:
		c := o.DeepCopy()
		c.Kind, c.APIVersion = "Service", "v1"
		return c
	case *discoveryv1.EndpointSlice:
		c := o.DeepCopy()
		c.Kind, c.APIVersion = "EndpointSlice", "discovery.k8s.io/v1"
		return c
	}
	return o
}

// AskedFor says whether a path was asked for with a label selector.
func (s *Server) AskedFor(path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.asked, path)
}
