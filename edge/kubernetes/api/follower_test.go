package api_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpedge/mcpedge/edge/kubernetes/api"
	"github.com/mcpedge/mcpedge/tests/helpers/apiserver"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	servicesPath = "/api/v1/namespaces/team/services"
	slicesPath   = "/apis/discovery.k8s.io/v1/namespaces/team/endpointslices"
)

// following is a Follower of the Services of team that runs until the test ends.
type following struct {
	*api.Follower[*api.Service]
	errors chan error
}

func follow(t *testing.T, c *api.Config) *following {
	t.Helper()
	client, err := api.NewClient(*c)
	if err != nil {
		t.Fatal(err)
	}
	errors := make(chan error, 1000)
	f := &following{api.Follow(client, api.Services, api.Options{
		Namespace: "team", Selector: "a=b", Changed: func() {}, Failed: func(err error) { errors <- err },
	}), errors}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { f.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		client.Close()
	})
	return f
}

// has waits until the objects have these names.
func (f *following) has(t *testing.T, want ...string) {
	t.Helper()
	await.Until(t, fmt.Sprintf("the Services to be %q", want), func() bool {
		var names []string
		for _, s := range f.Objects() {
			names = append(names, s.Name)
		}
		slices.Sort(names)
		return slices.Equal(names, want)
	})
}

// calm verifies that no failure was reported.
func (f *following) calm(t *testing.T) {
	t.Helper()
	select {
	case err := <-f.errors:
		t.Errorf("an error: %v", err)
	default:
	}
}

func service(name string) *api.Service {
	return &api.Service{Metadata: api.Metadata{Namespace: "team", Name: name, Labels: map[string]string{"a": "b"}}}
}

// A list is read in pages, and a watch continues from it.
func TestPages(t *testing.T) {
	server := apiserver.Start(t)
	var names []string
	for i := range 250 {
		names = append(names, fmt.Sprintf("s%03d", i))
		server.Put(service(names[i]))
	}
	f := follow(t, server.Config())
	await.Receive(t, "the list", f.Synced())
	f.has(t, names...)
	if n := server.Asked("list", servicesPath); n != 3 {
		t.Errorf("%d pages were asked for, want 3", n)
	}
	await.Until(t, "the watch", func() bool { return server.Asked("watch", servicesPath) == 1 })
	if w := server.Requests()[3]; w.Version != "250" || w.Selector != "a=b" {
		t.Errorf("the watch is %+v", w)
	}
	server.Remove(service("s000"))
	server.Put(service("t"))
	f.has(t, append(names[1:], "t")...)
	f.calm(t)
}

// Objects of both groups are where the API has them.
func TestEndpointSlices(t *testing.T) {
	server := apiserver.Start(t)
	ready := false
	server.Put(&api.EndpointSlice{
		Metadata: api.Metadata{Namespace: "team", Name: "s"}, AddressType: api.AddressTypeIPv4,
		Endpoints: []api.Endpoint{{Addresses: []string{"10.0.0.1"}, Conditions: api.EndpointConditions{Ready: &ready}}},
	})
	client, err := api.NewClient(*server.Config())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	f := api.Follow(client, api.EndpointSlices, api.Options{Namespace: "team", Changed: func() {}, Failed: func(err error) { t.Error(err) }})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { f.Run(ctx) })
	await.Receive(t, "the list", f.Synced())
	all := f.Objects()
	if len(all) != 1 || all[0].Endpoints[0].Addresses[0] != "10.0.0.1" || *all[0].Endpoints[0].Conditions.Ready || server.Asked("list", slicesPath) != 1 {
		t.Errorf("listed %+v of %v", all, server.Requests())
	}
}

// A watch whose time is over is begun again from its bookmark, without another list.
func TestBookmarks(t *testing.T) {
	server := apiserver.Start(t)
	server.Put(service("tea"))
	f := follow(t, server.Config())
	await.Until(t, "the watch", func() bool { return server.Asked("watch", servicesPath) == 1 })
	other := service("other")
	other.Labels = nil
	server.Put(other) // the watch gets only a bookmark about it
	server.EndWatches()
	await.Until(t, "the next watch", func() bool { return server.Asked("watch", servicesPath) == 2 })
	if got := server.Requests()[2].Version; got != "2" {
		t.Errorf("it begins at version %q, want that of the bookmark, 2", got)
	}
	server.Put(service("coffee"))
	f.has(t, "coffee", "tea")
	f.calm(t)
	if n := server.Asked("list", servicesPath); n != 1 {
		t.Errorf("listed %d times, want once", n)
	}
}

// A watch from a version that the API server has forgotten lists again, and reports no failure.
func TestForgottenVersions(t *testing.T) {
	server := apiserver.Start(t)
	server.Put(service("tea"))
	watches := map[string]http.HandlerFunc{
		"as an event": server.Handler().ServeHTTP,
		"as a status": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) },
	}
	for name, refuse := range watches {
		t.Run(name, func(t *testing.T) {
			var refused atomic.Bool
			lists := make(chan bool, 1000) // of each request: whether it lists
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				lists <- !r.URL.Query().Has("watch")
				if r.URL.Query().Has("watch") && !refused.Swap(true) {
					server.Put(service("coffee"))
					server.Forget()
					refuse(w, r)
					return
				}
				server.Handler().ServeHTTP(w, r)
			}))
			t.Cleanup(proxy.Close)
			f := follow(t, &api.Config{URL: proxy.URL})
			t.Cleanup(proxy.CloseClientConnections)
			f.has(t, "coffee", "tea")
			for i, want := range []bool{true, false, true} {
				if got := await.Receive(t, "a request", lists); got != want {
					t.Errorf("request %d lists: %v, want %v", i, got, want)
				}
			}
			f.calm(t)
			server.Put(service("milk"))
			f.has(t, "coffee", "milk", "tea")
			server.Remove(service("milk"))
			server.Remove(service("coffee"))
			f.has(t, "tea")
		})
	}
}

// answers is an API server that answers requests of a verb with a text, and others as one with the Service tea.
func answers(t *testing.T, verb string, code int, text io.WriterTo) *api.Config {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		is := "list"
		if r.URL.Query().Has("watch") {
			is = "watch"
		}
		if is != verb {
			_, _ = io.WriteString(w, `{"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"tea","resourceVersion":"1"}}]}`)
			return
		}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(code)
		_, _ = text.WriteTo(w)
	}))
	t.Cleanup(s.Close)
	return &api.Config{URL: s.URL}
}

// text is a text that is repeated some times.
type text struct {
	text  string
	times int
}

func (r text) WriteTo(w io.Writer) (n int64, err error) {
	for range r.times {
		m, err := io.WriteString(w, r.text)
		if n += int64(m); err != nil {
			return n, err
		}
	}
	return n, nil
}

// What the API server refuses, and what it must not send, is an error that says what to do. What was listed stays.
func TestErrors(t *testing.T) {
	const mib = 1 << 20
	spaces := strings.Repeat(" ", mib)
	item := `{"metadata":{"name":"x","resourceVersion":"8"}}`
	for _, c := range []struct {
		verb string
		code int
		text text
		want string
	}{
		{"list", 403, text{`{"kind":"Status","code":403,"message":"services is forbidden"}`, 1}, `list services in namespace team: the API server answers 403 Forbidden: give the service account a Role in team with the verb list of the resource services in the API group "": services is forbidden`},
		{"watch", 403, text{"no", 1}, `watch services in namespace team: the API server answers 403 Forbidden: give the service account a Role in team with the verb watch of the resource services`},
		{"list", 401, text{"", 1}, `401 Unauthorized: it does not accept the token of the service account`},
		{"list", 302, text{"", 1}, `answers 302 Found`},
		{"list", 500, text{`{"message":"` + strings.Repeat("x", 1000), 1000}, `answers 500 Internal Server Error`},
		{"watch", 200, text{`{"type":"ERROR","object":{"code":504,"message":"Too large resource version"}}`, 1}, `watch services in namespace team: the API server answers 504 Gateway Timeout: Too large resource version`},
		{"list", 200, text{"[]", 1}, "list services in namespace team: json: cannot unmarshal array"},
		{"list", 200, text{"{}", 1}, "the list of services in namespace team has no resourceVersion"},
		{"list", 200, text{`{"metadata":{"resourceVersion":"7"},"items":[null]}`, 1}, "one of the services in namespace team has no name"},
		{"list", 200, text{spaces, 65}, "a page of 100 services in namespace team is larger than 64 MiB"},
		{"watch", 200, text{spaces, 9}, "an event of services in namespace team is larger than 8 MiB"},
		{"watch", 200, text{"", 1}, "watch services in namespace team: it ended at once, without an event"},
		{"watch", 200, text{"x", 1}, "watch services in namespace team: invalid character 'x'"},
		{"watch", 200, text{`{"type":"ADDED","object":null}`, 1}, `an event "ADDED" has no object with a resourceVersion`},
		{"watch", 200, text{`{"type":"ADDED"}`, 1}, `watch services in namespace team: unexpected end of JSON input`},
		{"watch", 200, text{`{"type":"ADDED","object":{"metadata":{"resourceVersion":"8"}}}`, 1}, "one of the services in namespace team has no name"},
		{"watch", 200, text{`{"type":"ADDED","object":{"spec":[]}}`, 1}, "json: cannot unmarshal array"},
		{"watch", 200, text{`{"type":"ERROR","object":[]}`, 1}, "json: cannot unmarshal array"},
		{"watch", 200, text{`{"type":"NEWS","object":` + item + `}`, 1}, `an event of the unknown type "NEWS"`},
	} {
		t.Run(c.verb+" "+c.want, func(t *testing.T) {
			t.Parallel()
			f := follow(t, answers(t, c.verb, c.code, c.text))
			if err := await.Receive(t, "an error", f.errors); !strings.Contains(err.Error(), c.want) || len(err.Error()) > 1000 {
				t.Errorf("the error is %q", err)
			}
			if c.verb == "watch" {
				f.has(t, "tea")
			} else if len(f.Objects()) != 0 {
				t.Errorf("has %v", f.Objects())
			}
		})
	}
}

// More objects than a Follower takes are refused by lists and by watches.
func TestObjectsAreBounded(t *testing.T) {
	var listed atomic.Int32 // how many there are
	listed.Store(20_001)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("watch") {
			_, _ = io.WriteString(w, `{"type":"ADDED","object":{"metadata":{"name":"more","resourceVersion":"8"}}}`)
			return
		}
		_, _ = io.WriteString(w, `{"metadata":{"resourceVersion":"7"},"items":[`)
		for i := range listed.Load() {
			_, _ = fmt.Fprintf(w, `%s{"metadata":{"name":"s%d"}}`, strings.Repeat(",", int(min(i, 1))), i)
		}
		_, _ = io.WriteString(w, `]}`)
	}))
	defer s.Close()
	f := follow(t, &api.Config{URL: s.URL})
	const want = "there are more than 20000 services in namespace team"
	if err := await.Receive(t, "an error of the list", f.errors); err.Error() != want {
		t.Errorf("the error is %q", err)
	}
	listed.Store(20_000)
	await.Receive(t, "the list", f.Synced())
	if err := await.Receive(t, "an error of the watch", f.errors); err.Error() != want || len(f.Objects()) != 20_000 {
		t.Errorf("the error is %q, with %d objects", err, len(f.Objects()))
	}
}

// While the API server is away what was listed stays, and what changed is seen afterwards.
func TestAway(t *testing.T) {
	server := apiserver.Start(t)
	server.Put(service("tea"))
	f := follow(t, server.Config())
	f.has(t, "tea")
	server.GoAway(true)
	server.Put(service("coffee"))
	await.Until(t, "an error", func() bool {
		return strings.Contains(await.Receive(t, "an error", f.errors).Error(), "503 Service Unavailable") // behind that of the watch
	})
	f.has(t, "tea")
	server.GoAway(false)
	f.has(t, "coffee", "tea")
}
