package changes

import (
	"context"
	"log/slog"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// revoking is a world that knows which URI callers with scopes may not watch.
type revoking struct{ *world }

func (w revoking) Revoked(_ string, p mcp.Principal, uri string, _ Owner) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(p.Scopes) > 0 && uri == w.hidden
}

// stuck is a backend whose Watch blocks until release is closed.
type stuck struct {
	owner
	opening chan struct{}
	release chan struct{}
}

func (s *stuck) Watch(ctx context.Context, p mcp.Principal, uri string, fn func(string)) (func(), error) {
	s.opening <- struct{}{}
	select {
	case <-s.release:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return s.owner.Watch(ctx, p, uri, fn)
}

// both is a view with two owners: one that watches at once, and one that blocks.
type both struct {
	seen
	stuck *stuck
}

func (b both) Owner(uri string) Owner {
	if uri == "x:stuck" || uri == "x:late" {
		return b.stuck
	}
	return b.seen.Owner(uri)
}

// revokingBoth returns views with both owners.
type revokingBoth struct {
	revoking
	stuck *stuck
}

func (w revokingBoth) View(ctx context.Context, _ string, p mcp.Principal) (View, error) {
	v, err := w.revoking.View(ctx, "", p)
	own, _ := v.(seen)
	return both{own, w.stuck}, err
}

// A revoked watch ends while watches of the same and other feeds are being opened at a backend that
// blocks. A watch that is revoked while it is opened is not kept.
func TestRevocationDoesNotWait(t *testing.T) {
	quick, slow := &owner{}, &stuck{opening: make(chan struct{}, 10), release: make(chan struct{})}
	w := revokingBoth{revoking{&world{owners: map[string]*owner{"x:secret": quick, "x:plain": quick}}}, slow}
	h := New(w, Options{WatchedURIs: 10, Logger: slog.New(slog.DiscardHandler)})
	open := func(uris ...string) mcp.Feed {
		f, err := h.Open(t.Context(), "", mcp.Principal{Scopes: []string{"s"}}, mcp.Filter{URIs: uris})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(f.Close)
		return f
	}
	f := open("x:secret", "x:plain")
	ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
	defer cancel()
	updated := make(chan error, 1)
	go func() {
		_, err := f.Update(ctx, mcp.Filter{URIs: []string{"x:secret", "x:plain", "x:stuck", "x:late"}}, true)
		updated <- err
	}()
	await.Receive(t, "the watch that blocks", slow.opening)
	await.Receive(t, "the other watch that blocks", slow.opening)
	if quick.watchers("x:secret") != 1 {
		t.Fatal("it is not watched")
	}
	revoke := func(uri string) {
		h.Replace(func() Reach {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.hidden = uri
			return Differing
		})
	}
	revoke("x:secret")
	await.Until(t, "the revoked watch to end", func() bool { return quick.watchers("x:secret") == 0 })
	if quick.watchers("x:plain") != 1 {
		t.Error("a watch ended that was not revoked")
	}
	select {
	case <-updated:
		t.Fatal("the update did not wait for the watch that blocks")
	default:
	}
	revoke("x:late")
	close(slow.release)
	if err := await.Receive(t, "the update", updated); err != nil {
		t.Error(err)
	}
	await.Until(t, "the blocked watch to open", func() bool { return slow.watchers("x:stuck") == 1 })
	await.Until(t, "the watch that was revoked meanwhile to end", func() bool { return slow.watchers("x:late") == 0 })
}

// A caller loses its watches at once when its principal changes to one with fewer rights.
func TestSetPrincipalDoesNotWait(t *testing.T) {
	quick, slow := &owner{}, &stuck{opening: make(chan struct{}, 10), release: make(chan struct{})}
	w := revokingBoth{revoking{&world{owners: map[string]*owner{"x:secret": quick}, hidden: "x:secret"}}, slow}
	h := New(w, Options{WatchedURIs: 10, Logger: slog.New(slog.DiscardHandler)})
	f, err := h.Open(t.Context(), "", mcp.Principal{}, mcp.Filter{URIs: []string{"x:secret"}})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
	defer cancel()
	done := make(chan struct{}, 2)
	go func() {
		_, _ = f.Update(ctx, mcp.Filter{URIs: []string{"x:secret", "x:stuck"}}, false)
		done <- struct{}{}
	}()
	await.Receive(t, "the watch that blocks", slow.opening)
	go func() {
		_ = f.SetPrincipal(ctx, mcp.Principal{Scopes: []string{"s"}})
		done <- struct{}{}
	}()
	await.Until(t, "the watch to end", func() bool { return quick.watchers("x:secret") == 0 })
	close(slow.release)
	await.Receive(t, "the update", done)
	await.Receive(t, "the change of the principal", done)
}
