package changes

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a Source whose lists and owners the tests replace.
type world struct {
	mu     sync.Mutex
	kinds  backend.Kinds // whose lists differ at the next refresh
	moved  bool          // the owners were replaced
	owners map[string]*owner
	// differ are the kinds that callers with scopes see differently from callers without. hidden is
	// a URI that callers with scopes may not watch.
	differ backend.Kinds
	hidden string
	// look is Look; nil sees nothing.
	look func(set string, p mcp.Principal) func() mcp.Digest
}

func (w *world) Look(set string, p mcp.Principal) func() mcp.Digest {
	if w.look == nil {
		return func() mcp.Digest { return mcp.Digest{} }
	}
	return w.look(set, p)
}

func (w *world) Differ(ctx context.Context, _ string, a, b mcp.Principal) (backend.Kinds, error) {
	if len(a.Scopes) == len(b.Scopes) {
		return 0, ctx.Err()
	}
	return w.differ, ctx.Err()
}

func (w *world) Refresh(backend.Kinds) (backend.Kinds, func(string, mcp.Principal) backend.Kinds, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	kinds, moved := w.kinds, w.moved
	w.kinds, w.moved = 0, false
	return kinds, nil, moved
}

func (w *world) View(ctx context.Context, _ string, p mcp.Principal) (View, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	owners := maps.Clone(w.owners)
	if len(p.Scopes) > 0 {
		delete(owners, w.hidden)
	}
	return seen(owners), ctx.Err()
}

// seen maps URIs to owners. Every kind is served.
type seen map[string]*owner

func (s seen) Reportable(f mcp.Filter) (kinds backend.Kinds) {
	for kind, wanted := range map[backend.Kinds]bool{backend.Tools: f.Tools, backend.Resources: f.Resources, backend.Prompts: f.Prompts} {
		if wanted {
			kinds |= kind
		}
	}
	return kinds
}

func (s seen) Owner(uri string) Owner {
	if o := s[uri]; o != nil {
		return o
	}
	return nil
}

// owner is a backend whose changes the test reports.
type owner struct {
	mu  sync.Mutex
	fns map[string]map[int]func(string)
	n   int
}

func (*owner) Name() string           { return "owner" }
func (*owner) Timeout() time.Duration { return time.Minute }

func (o *owner) Watch(_ context.Context, _ mcp.Principal, uri string, fn func(string)) (func(), error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.fns == nil {
		o.fns = map[string]map[int]func(string){}
	}
	if o.fns[uri] == nil {
		o.fns[uri] = map[int]func(string){}
	}
	id := o.n
	o.n++
	o.fns[uri][id] = fn
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.fns[uri], id)
	}, nil
}

func (o *owner) watchers(uri string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.fns[uri])
}

// update reports a change to the watches of a resource. It fails without watches.
func (o *owner) update(t testing.TB, uri, changed string) {
	t.Helper()
	o.mu.Lock()
	var fns []func(string)
	for _, fn := range o.fns[uri] {
		fns = append(fns, fn)
	}
	o.mu.Unlock()
	if len(fns) == 0 {
		t.Fatalf("%s has no watches", uri)
	}
	for _, fn := range fns {
		fn(changed)
	}
}

// owned returns a world in which one backend owns the URIs.
func owned(uris ...string) (*world, *owner) {
	w, o := &world{owners: map[string]*owner{}}, &owner{}
	for _, uri := range uris {
		w.owners[uri] = o
	}
	return w, o
}

func hubOf(s Source) *Hub {
	return New(s, Options{WatchedURIs: 256, Logger: slog.New(slog.DiscardHandler)})
}

// change makes the lists of some kinds differ and notifies the hub.
func (w *world) change(h *Hub, kinds backend.Kinds) {
	w.mu.Lock()
	w.kinds |= kinds
	w.mu.Unlock()
	h.Changed(kinds)
}

// move replaces the owner of a URI and notifies the hub.
func (w *world) move(h *Hub, uri string, to *owner) {
	w.mu.Lock()
	w.owners, w.moved = map[string]*owner{uri: to}, true
	w.mu.Unlock()
	h.Changed(0)
}

// open opens a feed that ends with the test.
func open(t testing.TB, h *Hub, f mcp.Filter) *feed {
	t.Helper()
	opened, err := h.Open(t.Context(), "", mcp.Principal{}, f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	return opened.(*feed)
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

// silent checks that nothing is pending.
func silent(t testing.TB, feed mcp.Feed) {
	t.Helper()
	if got, err := feed.Next(t.Context(), 0); err != nil || len(got) > 0 {
		t.Errorf("notified of %v, %v", got, err)
	}
}

// queued returns the number of pending URIs and whether a list is pending.
func (f *feed) queued() (uris int, lists bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.changed), f.pending != 0
}

func (f *feed) watchOf(uri string) *watch {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.watches[uri]
}

// A feed whose principal changes reports the lists that differ for the new one, and watches what it
// may watch.
func TestSetPrincipal(t *testing.T) {
	w, _ := owned("x:1", "x:2")
	h := hubOf(w)
	feed := open(t, h, mcp.Filter{Tools: true, Prompts: true, URIs: []string{"x:1", "x:2"}})
	w.differ = backend.Tools | backend.Resources
	w.hidden = "x:2"
	if err := feed.SetPrincipal(t.Context(), mcp.Principal{Subject: "alice", Scopes: []string{"less"}}); err != nil {
		t.Fatal(err)
	}
	if got := next(t, feed); !slices.Equal(got, []mcp.Change{{Kind: mcp.ToolsChanged}}) {
		t.Errorf("got %v, want the one kind that is in the filter and differs", got)
	}
	if got := feed.Honoured().URIs; !slices.Equal(got, []string{"x:1"}) {
		t.Errorf("it watches %v", got)
	}
	silent(t, feed)
}

// If the backends do not answer for the new principal in time, every list is reported as changed,
// and watches that the new principal is denied end nevertheless.
func TestSetPrincipalFails(t *testing.T) {
	w, _ := owned("x:1", "x:2")
	feed := open(t, hubOf(w), mcp.Filter{Tools: true, Prompts: true, URIs: []string{"x:1", "x:2"}})
	w.hidden = "x:2"
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := feed.SetPrincipal(ctx, mcp.Principal{Subject: "alice", Scopes: []string{"less"}}); err == nil {
		t.Error("it did not fail")
	}
	if got := next(t, feed); !slices.Equal(got, []mcp.Change{{Kind: mcp.ToolsChanged}, {Kind: mcp.PromptsChanged}}) {
		t.Errorf("notified of %v", got)
	}
	await.Until(t, "the watch to end", func() bool { return slices.Equal(feed.Honoured().URIs, []string{"x:1"}) })
}

func TestChangesCoalesce(t *testing.T) {
	w, o := owned("x:1", "x:2")
	h := hubOf(w)
	feed := open(t, h, mcp.Filter{Tools: true, URIs: []string{"x:1", "x:2"}})
	for range 5 {
		o.update(t, "x:1", "x:1")
		o.update(t, "x:2", "x:2/below")
	}
	for range 2 {
		w.change(h, allKinds)
		if err := h.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	got := next(t, feed)
	slices.SortFunc(got, func(a, b mcp.Change) int { return int(a.Kind)*100 - int(b.Kind)*100 + len(a.URI) - len(b.URI) })
	want := []mcp.Change{{Kind: mcp.ToolsChanged}, {Kind: mcp.ResourceUpdated, URI: "x:1"}, {Kind: mcp.ResourceUpdated, URI: "x:2/below"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	silent(t, feed)
}

func TestUpdateKeepsRemainingWatches(t *testing.T) {
	w, o := owned("x:1", "x:2", "x:3")
	feed := open(t, hubOf(w), mcp.Filter{URIs: []string{"x:1", "x:2"}})
	kept := feed.watchOf("x:2")
	got, err := feed.Update(t.Context(), mcp.Filter{URIs: []string{"x:2", "x:3"}}, false)
	if err != nil || !slices.Equal(got.URIs, []string{"x:2", "x:3"}) {
		t.Fatalf("got %+v, %v", got, err)
	}
	if feed.watchOf("x:2") != kept {
		t.Error("the kept watch was interrupted")
	}
	if n := o.watchers("x:1"); n != 0 {
		t.Errorf("%d watches of x:1 are left", n)
	}
	o.update(t, "x:3", "x:3")
	if got := next(t, feed); !slices.Equal(got, []mcp.Change{{Kind: mcp.ResourceUpdated, URI: "x:3"}}) {
		t.Errorf("got %v", got)
	}
	if _, err := feed.Update(t.Context(), mcp.Filter{URIs: []string{"x:1", "x:2", "x:3"}}, true); err != nil {
		t.Fatal(err)
	}
	if got := next(t, feed); !slices.Equal(got, []mcp.Change{{Kind: mcp.ResourceUpdated, URI: "x:1"}}) {
		t.Errorf("the update reports %v, want the newly watched resource", got)
	}
}

// An update that was not read before its watch moved is reported by the new watch.
func TestPendingUpdatesSurviveANewOwner(t *testing.T) {
	w, a := owned("x:1")
	h, b := hubOf(w), &owner{}
	feed := open(t, h, mcp.Filter{URIs: []string{"x:1"}})
	old := feed.watchOf("x:1")
	a.update(t, "x:1", "x:1")
	w.move(h, "x:1", b)
	await.Until(t, "the new watch to report", func() bool {
		n, _ := feed.queued()
		now := feed.watchOf("x:1")
		return now != nil && now != old && n == 1
	})
	if a.watchers("x:1") != 0 || b.watchers("x:1") != 1 {
		t.Errorf("%d watches at the old owner, %d at the new one", a.watchers("x:1"), b.watchers("x:1"))
	}
	if got := next(t, feed); !slices.Equal(got, []mcp.Change{{Kind: mcp.ResourceUpdated, URI: "x:1"}}) {
		t.Errorf("got %v", got)
	}
	// Updates of a watch that the filter no longer has are dropped.
	b.update(t, "x:1", "x:1")
	if _, err := feed.Update(t.Context(), mcp.Filter{}, false); err != nil {
		t.Fatal(err)
	}
	silent(t, feed)
}

func TestCloseEndsAFeed(t *testing.T) {
	w, o := owned("x:1")
	h := hubOf(w)
	feed := open(t, h, mcp.Filter{Tools: true, URIs: []string{"x:1"}})
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
	if n := o.watchers("x:1"); n != 0 {
		t.Errorf("%d watches are left", n)
	}
	if n := len(h.snapshot()); n != 0 {
		t.Errorf("%d feeds are left", n)
	}
}

// A feed that fails to open leaves nothing behind.
func TestOpenFails(t *testing.T) {
	w, _ := owned("x:1")
	h := hubOf(w)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Open(ctx, "", mcp.Principal{}, mcp.Filter{URIs: []string{"x:1"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("Open: %v", err)
	}
	if n := len(h.snapshot()); n != 0 {
		t.Errorf("%d feeds are left", n)
	}
}

func TestPendingURIsAreBounded(t *testing.T) {
	f := newFeed(hubOf(nil), "", mcp.Principal{})
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

// leaving is a view whose subscriber disconnects while the first owner is looked up.
type leaving struct {
	View
	leave func()
	found int
}

func (l *leaving) Owner(uri string) Owner {
	l.found++
	l.leave()
	return l.View.Owner(uri)
}

// No owners are looked up for a disconnected subscriber: a lookup is slow if many templates nearly
// match.
func TestNoLookupsAfterDisconnect(t *testing.T) {
	w := &world{}
	h := New(w, Options{Jitter: -1})
	f := open(t, h, mcp.Filter{})
	v, err := w.View(t.Context(), "", mcp.Principal{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	l := &leaving{View: v, leave: cancel}
	f.updating.Lock()
	f.asked.URIs = []string{"a:1", "a:2", "a:3"}
	f.rewatch(ctx, l, false)
	f.asked.URIs = nil
	f.updating.Unlock()
	if l.found != 1 {
		t.Errorf("%d owners were looked up", l.found)
	}
}
