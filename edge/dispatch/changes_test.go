package dispatch

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/mcp"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// feedType is the type's name where a variable hides it.
type feedType = feed

// open opens a feed that ends with the test.
func open(t testing.TB, d *Dispatch, f mcp.Filter) mcp.Feed {
	t.Helper()
	feed, err := d.Changes(t.Context(), mcp.Principal{}, f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(feed.Close)
	return feed
}

func next(t testing.TB, feed mcp.Feed) []mcp.Change {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	got, err := feed.Next(ctx, time.Minute)
	if err != nil {
		t.Fatalf("no change came: %v", err)
	}
	return got
}

// silent checks that nothing is pending. What would have been told was told before.
func silent(t testing.TB, feed mcp.Feed) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := feed.Next(ctx, time.Minute); err == nil {
		t.Errorf("told %v", got)
	}
}

func TestListChangesReachThoseWhoAsked(t *testing.T) {
	f := &fake{name: "a", tools: tools(0, 1), prompts: []*pb.Prompt{{Name: "p"}}}
	d := start(t, Options{Jitter: -1}, f)
	all, prompts := open(t, d, mcp.Filter{Tools: true, Resources: true, Prompts: true}), open(t, d, mcp.Filter{Prompts: true})
	f.change(func() { f.tools = tools(0, 2) })
	if got := next(t, all); !slices.Equal(got, []mcp.Change{{Kind: mcp.ToolsChanged}}) {
		t.Errorf("got %v", got)
	}
	// A list that was told of can be had at once.
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

func TestChangesCoalesce(t *testing.T) {
	f := &fake{name: "a", resources: []*pb.Resource{{Uri: "x:1", Name: "1"}, {Uri: "x:2", Name: "2"}}}
	d := start(t, Options{Jitter: -1}, f)
	feed := open(t, d, mcp.Filter{Tools: true, URIs: []string{"x:1", "x:2"}})
	for range 5 {
		f.update(t, "x:1", "")
		f.update(t, "x:2", "x:2/below")
	}
	f.change(func() { f.tools = tools(0, 1) })
	f.change(func() { f.tools = tools(0, 2) })
	await(t, "the last update and list", func() bool {
		uris, lists := feed.(*feedType).pendingForTest()
		return uris == 2 && lists && len(d.views.shared.Load().tools.byName) == 2
	})
	got := next(t, feed)
	slices.SortFunc(got, func(a, b mcp.Change) int { return int(a.Kind)*100 - int(b.Kind)*100 + len(a.URI) - len(b.URI) })
	want := []mcp.Change{{Kind: mcp.ToolsChanged}, {Kind: mcp.ResourceUpdated, URI: "x:1"}, {Kind: mcp.ResourceUpdated, URI: "x:2/below"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

// pendingForTest says how many URIs are pending and whether a list is.
func (f *feed) pendingForTest() (int, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.changed), f.pending != 0
}

func TestRefusedURIs(t *testing.T) {
	f := &fake{name: "a", resources: []*pb.Resource{{Uri: "x:1", Name: "1"}, {Uri: "x:2", Name: "2"}, {Uri: "x:3", Name: "3"}},
		refuse: map[string]error{"x:2": status.Error(codes.PermissionDenied, "no")}}
	d := start(t, Options{WatchedURIs: 4}, f)
	feed := open(t, d, mcp.Filter{URIs: []string{"x:1", "x:2", "nobody:1", "x:3", "x:1/beyond-the-bound"}})
	if got := feed.Honoured().URIs; !slices.Equal(got, []string{"x:1", "x:3"}) {
		t.Errorf("honoured %v", got)
	}
}

func TestUpdateKeepsWhatStays(t *testing.T) {
	f := &fake{name: "a", resources: []*pb.Resource{{Uri: "x:1", Name: "1"}, {Uri: "x:2", Name: "2"}, {Uri: "x:3", Name: "3"}}}
	d := start(t, Options{}, f)
	feed := open(t, d, mcp.Filter{URIs: []string{"x:1", "x:2"}})
	own := feed.(*feedType)
	kept := own.watchForTest("x:2")
	got, err := feed.Update(t.Context(), mcp.Filter{URIs: []string{"x:2", "x:3"}}, false)
	if err != nil || !slices.Equal(got.URIs, []string{"x:2", "x:3"}) {
		t.Fatalf("got %+v, %v", got, err)
	}
	if own.watchForTest("x:2") != kept {
		t.Error("the watch that stays was interrupted")
	}
	await(t, "the watch of x:1 to end", func() bool { return f.watchers("x:1") == 0 })
	f.update(t, "x:3", "")
	if got := next(t, feed); !slices.Equal(got, []mcp.Change{{Kind: mcp.ResourceUpdated, URI: "x:3"}}) {
		t.Errorf("got %v", got)
	}
	if _, err := feed.Update(t.Context(), mcp.Filter{URIs: []string{"x:1", "x:2", "x:3"}}, true); err != nil {
		t.Fatal(err)
	}
	if got := next(t, feed); !slices.Equal(got, []mcp.Change{{Kind: mcp.ResourceUpdated, URI: "x:1"}}) {
		t.Errorf("told to, an update tells of %v, want what it began to watch", got)
	}
}

func (f *feed) watchForTest(uri string) *watch {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.watches[uri]
}

func TestWatchesMoveToTheNewOwner(t *testing.T) {
	x := []*pb.Resource{{Uri: "x:1", Name: "1"}}
	a, b := &fake{name: "a", resources: x}, &fake{name: "b"}
	d := start(t, Options{Jitter: -1}, a, b)
	feed := open(t, d, mcp.Filter{URIs: []string{"x:1"}})
	a.change(func() { a.resources = nil })
	b.change(func() { b.resources = x })
	// Changes between the two watches were seen by nobody, so one is told.
	if got := next(t, feed); !slices.Equal(got, []mcp.Change{{Kind: mcp.ResourceUpdated, URI: "x:1"}}) {
		t.Errorf("got %v", got)
	}
	await(t, "the watch to leave a", func() bool { return a.watchers("x:1") == 0 && b.watchers("x:1") == 1 })
	if got := feed.Honoured().URIs; !slices.Equal(got, []string{"x:1"}) {
		t.Errorf("honoured %v", got)
	}
	b.update(t, "x:1", "x:1#part")
	if got := next(t, feed); !slices.Equal(got, []mcp.Change{{Kind: mcp.ResourceUpdated, URI: "x:1#part"}}) {
		t.Errorf("got %v", got)
	}
}

// An update that nobody took before its watch moved is told by the new watch.
func TestPendingUpdatesSurviveANewOwner(t *testing.T) {
	x := []*pb.Resource{{Uri: "x:1", Name: "1"}}
	a, b := &fake{name: "a", resources: x}, &fake{name: "b"}
	d := start(t, Options{Jitter: -1}, a, b)
	feed := open(t, d, mcp.Filter{URIs: []string{"x:1"}}).(*feedType)
	old := feed.watchForTest("x:1")
	a.update(t, "x:1", "")
	await(t, "the update", func() bool { n, _ := feed.pendingForTest(); return n == 1 })
	b.change(func() { b.resources = x })
	a.change(func() { a.resources = nil })
	await(t, "the new watch to tell", func() bool {
		n, _ := feed.pendingForTest()
		w := feed.watchForTest("x:1")
		return w != nil && w != old && n == 1
	})
	if got := next(t, feed); !slices.Equal(got, []mcp.Change{{Kind: mcp.ResourceUpdated, URI: "x:1"}}) {
		t.Errorf("got %v", got)
	}
	// What came by a watch that the filter no longer has is not told.
	b.update(t, "x:1", "")
	await(t, "the update", func() bool { n, _ := feed.pendingForTest(); return n == 1 })
	if _, err := feed.Update(t.Context(), mcp.Filter{}, false); err != nil {
		t.Fatal(err)
	}
	silent(t, feed)
}

func TestCloseEndsAFeed(t *testing.T) {
	f := &fake{name: "a", resources: []*pb.Resource{{Uri: "x:1", Name: "1"}}}
	d := start(t, Options{}, f)
	feed := open(t, d, mcp.Filter{Tools: true, URIs: []string{"x:1"}})
	waiting := make(chan error)
	go func() {
		_, err := feed.Next(context.Background(), time.Minute)
		waiting <- err
	}()
	feed.Close()
	feed.Close()
	if err := <-waiting; !errors.Is(err, errFeedClosed) {
		t.Errorf("Next: %v", err)
	}
	if _, err := feed.Update(t.Context(), mcp.Filter{}, false); !errors.Is(err, errFeedClosed) {
		t.Errorf("Update: %v", err)
	}
	await(t, "the watch to end", func() bool { return f.watchers("x:1") == 0 })
	if n := len(d.hub.snapshot()); n != 0 {
		t.Errorf("%d feeds are left", n)
	}
}

func TestPendingURIsAreBounded(t *testing.T) {
	f := newFeed(&Dispatch{opts: Options{}.withDefaults(), hub: newHub(nil)}, mcp.Principal{})
	defer f.Close()
	w := &watch{uri: "x:"}
	for i := range 3 * maxPendingURIs {
		f.updated(w, "x:"+string(rune('a'+i)))
	}
	got := next(t, f)
	if n := len(got); n > maxPendingURIs+1 || got[n-1].URI != "x:" {
		t.Errorf("%d changes, the last %v", n, got[n-1])
	}
}

func TestIdleFeedsAreCheap(t *testing.T) {
	f := &fake{name: "a", tools: tools(0, 1)}
	d := start(t, Options{}, f)
	before := runtime.NumGoroutine()
	feeds := make([]mcp.Feed, 10_000)
	for i := range feeds {
		feed, err := d.Changes(t.Context(), mcp.Principal{}, mcp.Filter{Tools: true})
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
