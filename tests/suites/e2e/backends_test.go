package e2e

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// speaker is a backend whose tools say its name.
func speaker(name string, tools ...string) *capability.Server {
	s := capability.New(name, "1.0.0")
	for _, tool := range tools {
		capability.AddTool(s, tool, "Says who it is",
			func(context.Context, *capability.Call, struct{}) (string, error) { return name, nil })
	}
	return s
}

// TestTwoBackends: the first backend wins a name that both have; with a prefix both are there.
func TestTwoBackends(t *testing.T) {
	one := startService(t, speaker("one", "who", "only_one"))
	two := startService(t, speaker("two", "who", "only_two"))
	e := startEdge(t, []config.Backend{{Name: "one", Target: one.Addr}, {Name: "two", Target: two.Addr}})
	c := newStateless(t, e.URL)
	got := names(c.request("tools/list", nil).result()["tools"], "name")
	slices.Sort(got)
	if !slices.Equal(got, []string{"only_one", "only_two", "who"}) {
		t.Errorf("listed: %v", got)
	}
	for tool, want := range map[string]string{"who": "one", "only_one": "one", "only_two": "two"} {
		if got := c.call(tool, "").text(); got != want {
			t.Errorf("%s is served by %s, want %s", tool, got, want)
		}
	}
	e = startEdge(t, []config.Backend{{Name: "one", Target: one.Addr}, {Name: "two", Target: two.Addr, Prefix: "two_"}})
	c = newStateless(t, e.URL)
	for tool, want := range map[string]string{"who": "one", "two_who": "two", "two_only_two": "two"} {
		if got := c.call(tool, "").text(); got != want {
			t.Errorf("with a prefix, %s is served by %s, want %s", tool, got, want)
		}
	}
	c.call("only_two", "").json().wantError(t, -32602)
}

// TestBackendGone: while a backend is away its calls fail at once with a clear error, its tools stay
// listed until they are stale, and the other backend is untouched. When it is back, all works.
func TestBackendGone(t *testing.T) {
	steady := startService(t, speaker("steady", "calm"))
	shaky := startService(t, speaker("shaky", "fragile"))
	e := startEdge(t, []config.Backend{{Name: "steady", Target: steady.Addr}, {Name: "shaky", Target: shaky.Addr}})
	c := newStateless(t, e.URL)
	s := newSession(t, e.URL, vNov)
	if got := c.call("fragile", "").text(); got != "shaky" {
		t.Fatalf("got %q", got)
	}
	shaky.Stop()
	m := c.call("fragile", "").want(http.StatusOK).json().wantError(t, -31502)
	if data := object(t, m.Error.Data); data["backend"] != "shaky" || data["status"] != "UNAVAILABLE" {
		t.Errorf("error data: %v", data)
	}
	s.call("fragile", "").want(http.StatusOK).json().wantError(t, -31502)
	if got := names(c.request("tools/list", nil).result()["tools"], "name"); !slices.Equal(got, []string{"calm", "fragile"}) {
		t.Errorf("listed while it is away: %v", got)
	}
	if got := c.call("calm", "").text(); got != "steady" {
		t.Errorf("the other backend: %q", got)
	}
	stream := s.get("").events()
	startService(t, speaker("shaky", "fragile", "repaired"), shaky.Addr)
	stream.awaitMethod("notifications/tools/list_changed")
	await.Until(t, "the new tool works", func() bool {
		m := c.call("repaired", "").json()
		return m.Error == nil && text(t, m.result(t)) == "shaky"
	})
}

// TestLateBackend: a backend that is not there at the start joins when it comes; one that is stale
// leaves the lists.
func TestLateBackend(t *testing.T) {
	reserved := startService(t, speaker("reserved"))
	reserved.Stop()
	e := startEdge(t, []config.Backend{{Name: "late", Target: reserved.Addr, StaleAfter: 100 * time.Millisecond}})
	c := newStateless(t, e.URL)
	c.request("tools/list", nil).want(http.StatusOK).json().wantError(t, -31502)
	late := startService(t, speaker("late", "who"), reserved.Addr)
	await.Until(t, "the backend is used", func() bool { return c.call("who", "").json().Error == nil })
	late.Stop()
	await.Until(t, "the backend is forgotten", func() bool { return c.request("tools/list", nil).json().Error != nil })
	c.call("who", "").want(http.StatusOK).json().wantError(t, -31502)
}
