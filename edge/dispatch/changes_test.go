package dispatch

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/catalog"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// open opens a feed that ends with the test.
func open(t testing.TB, d *Dispatch, f mcp.Filter) mcp.Feed {
	t.Helper()
	feed, err := d.Changes(t.Context(), "", mcp.Principal{}, f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(feed.Close)
	return feed
}

func next(t testing.TB, feed mcp.Feed) []mcp.Change {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
	defer cancel()
	got, err := feed.Next(ctx, time.Minute)
	if err != nil {
		t.Fatalf("no change came: %v", err)
	}
	return got
}

// silent checks that no change is pending. Call it after all expected changes were received.
func silent(t testing.TB, feed mcp.Feed) {
	t.Helper()
	if got, err := feed.Next(t.Context(), 0); err != nil || len(got) > 0 {
		t.Errorf("notified of %v, %v", got, err)
	}
}

func TestListChangesReachSubscribers(t *testing.T) {
	f := &fake{name: "a", tools: tools(0, 1), prompts: []*pb.Prompt{{Name: "p"}}}
	d := start(t, Options{Catalog: catalog.Options{Jitter: -1}}, f)
	all, prompts := open(t, d, mcp.Filter{Tools: true, Resources: true, Prompts: true}), open(t, d, mcp.Filter{Prompts: true})
	f.change(func() { f.tools = tools(0, 2) })
	if got := next(t, all); !slices.Equal(got, []mcp.Change{{Kind: mcp.ToolsChanged}}) {
		t.Errorf("got %v", got)
	}
	// A list that was reported as changed is available at once.
	if p, err := listPage(t, d, modern, mcp.MethodToolsList, `{}`, mcp.Principal{}); err != nil || len(p.Tools) != 2 {
		t.Errorf("the list is behind its notification: %v, %v", p, err)
	}
	silent(t, prompts)
	f.change(func() { f.prompts = nil })
	if got := next(t, prompts); !slices.Equal(got, []mcp.Change{{Kind: mcp.PromptsChanged}}) {
		t.Errorf("got %v", got)
	}
}

func TestUnservedKindsAreNotHonoured(t *testing.T) {
	d := start(t, Options{}, &fake{name: "a", services: "t"})
	feed := open(t, d, mcp.Filter{Tools: true, Resources: true, Prompts: true, URIs: []string{"x:1"}})
	if h := feed.Honoured(); !h.Tools || h.Resources || h.Prompts || len(h.URIs) != 0 {
		t.Errorf("got %+v", h)
	}
}

func TestRefusedURIs(t *testing.T) {
	f := &fake{name: "a", resources: []*pb.Resource{{Uri: "x:1", Name: "1"}, {Uri: "x:2", Name: "2"}, {Uri: "x:3", Name: "3"}},
		refuse: map[string]error{"x:2": status.Error(codes.PermissionDenied, "no")}}
	d := start(t, Options{Catalog: catalog.Options{WatchedURIs: 4}}, f)
	feed := open(t, d, mcp.Filter{URIs: []string{"x:1", "x:2", "none:1", "x:3", "x:1/beyond-the-bound"}})
	if got := feed.Honoured().URIs; !slices.Equal(got, []string{"x:1", "x:3"}) {
		t.Errorf("honoured %v", got)
	}
}

func TestWatchesMoveToTheNewOwner(t *testing.T) {
	x := []*pb.Resource{{Uri: "x:1", Name: "1"}}
	a, b := &fake{name: "a", resources: x}, &fake{name: "b"}
	d := start(t, Options{Catalog: catalog.Options{Jitter: -1}}, a, b)
	feed := open(t, d, mcp.Filter{URIs: []string{"x:1"}})
	a.change(func() { a.resources = nil })
	b.change(func() { b.resources = x })
	// The feed reports one change, because no watch observed the changes between the two watches.
	if got := next(t, feed); !slices.Equal(got, []mcp.Change{{Kind: mcp.ResourceUpdated, URI: "x:1"}}) {
		t.Errorf("got %v", got)
	}
	await.Until(t, "the watch to leave a", func() bool { return a.watchers("x:1") == 0 && b.watchers("x:1") == 1 })
	if got := feed.Honoured().URIs; !slices.Equal(got, []string{"x:1"}) {
		t.Errorf("honoured %v", got)
	}
	b.update(t, "x:1", "x:1#part")
	if got := next(t, feed); !slices.Equal(got, []mcp.Change{{Kind: mcp.ResourceUpdated, URI: "x:1#part"}}) {
		t.Errorf("got %v", got)
	}
}

func TestIdleFeedsAreCheap(t *testing.T) {
	f := &fake{name: "a", tools: tools(0, 1)}
	d := start(t, Options{}, f)
	before := runtime.NumGoroutine()
	feeds := make([]mcp.Feed, 10_000)
	for i := range feeds {
		feed, err := d.Changes(t.Context(), "", mcp.Principal{}, mcp.Filter{Tools: true})
		if err != nil {
			t.Fatal(err)
		}
		feeds[i] = feed
		defer feed.Close()
	}
	if n := runtime.NumGoroutine() - before; n > 100 {
		t.Errorf("%d goroutines for idle feeds", n)
	}
	f.change(func() { f.tools = tools(0, 2) })
	for _, feed := range feeds {
		if got := next(t, feed); !slices.Equal(got, []mcp.Change{{Kind: mcp.ToolsChanged}}) {
			t.Fatalf("got %v", got)
		}
	}
}

// A caller is notified of a changed list only if the change is visible to it, not if the policy
// hides the changed entry.
func TestChangesOfHiddenEntriesAreNotReported(t *testing.T) {
	f := everything()
	c := control(t, policy.Settings{Default: policy.Allow, Rules: []policy.Rule{{Name: "hidden", Then: policy.Hide, When: `"a" in principal.roles && tool.name == "one"`}}})
	d := start(t, Options{Catalog: catalog.Options{Jitter: -1}, Access: by(c)}, f)
	feeds := map[string]mcp.Feed{}
	for _, role := range []string{"a", "b"} {
		feed, err := d.Changes(t.Context(), "", mcp.Principal{Subject: role, Roles: []string{role}}, mcp.Filter{Tools: true, Prompts: true})
		if err != nil {
			t.Fatal(err)
		}
		defer feed.Close()
		feeds[role] = feed
	}
	changed := []mcp.Change{{Kind: mcp.ToolsChanged}}
	f.change(func() { f.tools = []*pb.Tool{{Name: "one", Description: "Changed."}, f.tools[1]} })
	if got := next(t, feeds["b"]); !slices.Equal(got, changed) {
		t.Errorf("b is notified of %v", got)
	}
	if err := d.Catalog().Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	silent(t, feeds["a"])
	f.change(func() { f.tools = []*pb.Tool{f.tools[0], {Name: "two", Description: "Changed."}} })
	for role, feed := range feeds {
		if got := next(t, feed); !slices.Equal(got, changed) {
			t.Errorf("%s is notified of %v", role, got)
		}
	}
}
