//go:build kubernetes && linux

package kubernetes

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// foundWithin is how soon connected clients are to have the tools of a Service that has got the label, or has lost it.
const foundWithin = 5 * time.Second

// found: Services are backends while they have the label, and connected clients of both eras are told.
func (c *cluster) found(t *testing.T) {
	c.upgrade(t, "discovery.enabled=true")
	c.apply(t, "tests/suites/kubernetes/testdata/found.yaml")
	c.rollout(t, "invoices")
	w := c.watch(t)
	service := func(args ...string) { c.kubectl(t, append([]string{"--namespace", namespace}, args...)...) }
	w.await(t, "labelled", func() { service("label", "service/invoices", "mcpedge.io/backend=true") }, "where", "count", "mcp_where", "mcp_count")
	c.answers(t, "mcp_count", `{"steps":1}`, "counted 1")
	w.await(t, "without the label", func() { service("label", "service/invoices", "mcpedge.io/backend-") }, "where", "count")
	w.await(t, "labelled again", func() { service("label", "service/invoices", "mcpedge.io/backend=true") }, "where", "count", "mcp_where", "mcp_count")

	// Those that lie or are down keep nobody from the others, and take no tool of a configured backend.
	service("label", "service/liar", "service/down", "service/impostor", "mcpedge.io/backend=true")
	within(t, 2*foundWithin, "the edges know those that lie", func() bool {
		said := c.backendsOf(t)
		return !slices.ContainsFunc([]string{"mcp/liar", "mcp/down", "mcp/impostor"}, func(name string) bool { return !strings.Contains(said, name) })
	})
	for range 20 {
		a, err := w.user.call(t.Context(), "where", "{}")
		if err != nil || !strings.HasPrefix(a.text, "backend-") {
			t.Fatalf("where is answered by %+v, %v: want an instance of the configured backend", a, err)
		}
	}
	if tools, err := w.user.tools(t.Context()); err != nil || len(tools) != 4 {
		t.Errorf("the tools are %v, %v", tools, err)
	}
	w.await(t, "deleted", func() { service("delete", "service/invoices", "service/impostor") }, "where", "count")
	service("delete", "--filename", "tests/suites/kubernetes/testdata/found.yaml", "--ignore-not-found")
}

// backendsOf is what an edge says of its backends.
func (c *cluster) backendsOf(t *testing.T) string {
	t.Helper()
	for _, p := range c.pods(t, edgePods) {
		resp, err := http.Get("http://" + addr(p.Status.PodIP, 9090) + "/v1/backends")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	t.Fatal("no edge is ready")
	return ""
}

// watcher is a connected client of each era that waits to be told of changed lists.
type watcher struct {
	user *client
	told map[string]chan time.Time // by revision
}

// watch connects them, with a stream each.
func (c *cluster) watch(t *testing.T) *watcher {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	w := &watcher{told: map[string]chan time.Time{}}
	for _, revision := range []string{legacy, modern} {
		user := newClient(c.endpoint(t), revision, false)
		t.Cleanup(user.http.CloseIdleConnections)
		if err := user.connect(ctx); err != nil {
			t.Fatal(err)
		}
		method, body, header := http.MethodGet, "", []string(nil)
		if revision == modern {
			method = http.MethodPost
			_, body, header = user.request("subscriptions/listen", "", `"notifications":{"toolsListChanged":true}`)
		}
		resp, err := user.send(ctx, method, body, header...)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v, %v", revision, resp, err)
		}
		told, ended := make(chan time.Time, 100), make(chan struct{})
		go func() {
			defer close(ended)
			changes(resp, told)
		}()
		t.Cleanup(func() {
			cancel()
			<-ended
		})
		w.told[revision], w.user = told, user
	}
	return w
}

// changes tells when a stream says that the tools have changed, until it ends.
func changes(resp *http.Response, told chan<- time.Time) {
	defer resp.Body.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := resp.Body.Read(buffer)
		if strings.Contains(string(buffer[:n]), "notifications/tools/list_changed") {
			told <- time.Now()
		}
		if err != nil {
			return
		}
	}
}

// await makes a change and waits until the clients were told and the list has these tools. It fails the test where that takes longer than
// it may.
func (w *watcher) await(t *testing.T, what string, change func(), want ...string) {
	t.Helper()
	began := time.Now()
	change()
	slices.Sort(want)
	within(t, 6*foundWithin, strings.Join(want, ", "), func() bool {
		tools, err := w.user.tools(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(tools)
		return slices.Equal(tools, want)
	})
	took := time.Since(began)
	for revision, told := range w.told {
		select {
		case at := <-told:
			took = max(took, at.Sub(began))
		case <-time.After(6 * foundWithin):
			t.Fatalf("%s: a client of %s was not told", what, revision)
		}
	}
	// What else is told of this change is not of the next one.
	for _, told := range w.told {
		for len(told) > 0 {
			<-told
		}
	}
	figure(t, "%s: told and listed after %v", what, took.Round(time.Millisecond))
	if took > foundWithin {
		t.Errorf("%s: it took %v, want %v", what, took, foundWithin)
	}
}
