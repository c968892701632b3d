package backend

import (
	"context"
	"errors"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// watching opens a watch whose updates go to the channel.
func watching(t *testing.T, b *Backend, p mcp.Principal, uri string) (<-chan string, func()) {
	t.Helper()
	updates := make(chan string, 100)
	stop, err := b.Watch(t.Context(), p, uri, func(u string) { updates <- u })
	if err != nil {
		t.Fatalf("watch %s: %v", uri, err)
	}
	t.Cleanup(stop)
	return updates, stop
}

func TestWatchShared(t *testing.T) {
	f := newFake("a")
	addr, _ := f.serve(t, "")
	p, b, _ := started(t, Config{Target: addr}, fast)
	ready(t, p)
	one, stopOne := watching(t, b, mcp.Principal{Subject: "ann"}, "test:a")
	two, stopTwo := watching(t, b, mcp.Principal{Subject: "bob"}, "test:a")
	if n := f.opened.Load(); n != 1 {
		t.Fatalf("%d streams for one URI of a public backend, want 1", n)
	}
	if f.watchers[0] != nil {
		t.Fatalf("a shared watch names principal %v", f.watchers[0])
	}
	f.update("test:a", "test:a/b", false)
	f.update("test:a", "", false)
	for _, updates := range []<-chan string{one, two} {
		if u := <-updates; u != "test:a/b" {
			t.Fatalf("update = %q, want the sub-resource", u)
		}
		if u := <-updates; u != "test:a" {
			t.Fatalf("update = %q, want the watched URI", u)
		}
	}
	stopOne()
	stopOne()
	f.update("test:a", "", false)
	<-two
	if len(one) != 0 {
		t.Fatal("an update after stop")
	}
	if n := b.Status().Watches; n != 1 || f.watchesOpen() != 1 {
		t.Fatalf("watches = %d and %d, want 1", n, f.watchesOpen())
	}
	stopTwo()
	await.Until(t, "stream closed", func() bool { return f.watchesOpen() == 0 })
	if n := b.Status().Watches; n != 0 {
		t.Fatalf("watches = %d after the last stop", n)
	}
}

func TestWatchRefused(t *testing.T) {
	f := newFake("a")
	f.refuse["test:no"] = status.Error(codes.NotFound, "no such resource")
	addr, _ := f.serve(t, "")
	p, b, _ := started(t, Config{Target: addr}, fast)
	ready(t, p)
	_, err := b.Watch(t.Context(), mcp.Principal{}, "test:no", func(string) {})
	if status.Code(err) != codes.NotFound {
		t.Fatalf("err = %v, want NotFound", err)
	}
	if n := b.Status().Watches; n != 0 {
		t.Fatalf("watches = %d after a refusal", n)
	}
	// A refusal is not remembered.
	f.set(func() { delete(f.refuse, "test:no") })
	watching(t, b, mcp.Principal{}, "test:no")
}

func TestWatchReopens(t *testing.T) {
	f := newFake("a")
	addr, kill := f.serve(t, "")
	p, b, _ := started(t, Config{Target: addr}, fast)
	ready(t, p)
	updates, _ := watching(t, b, mcp.Principal{}, "test:a")
	f.update("test:a", "", true)
	if u := <-updates; u != "test:a" {
		t.Fatalf("update = %q after the stream broke", u)
	}
	kill()
	await.Until(t, "down", func() bool { return b.Status().State == Down })
	again := newFake("a")
	again.serve(t, addr)
	if u := <-updates; u != "test:a" {
		t.Fatalf("update = %q after a restart", u)
	}
	again.update("test:a", "test:a/x", false)
	if u := <-updates; u != "test:a/x" {
		t.Fatalf("update = %q on the new stream", u)
	}
}

func TestWatchRefusedLater(t *testing.T) {
	f := newFake("a")
	addr, _ := f.serve(t, "")
	p, b, _ := started(t, Config{Target: addr}, fast)
	ready(t, p)
	updates, stop := watching(t, b, mcp.Principal{}, "test:a")
	f.set(func() { f.refuse["test:a"] = status.Error(codes.NotFound, "gone") })
	f.update("test:a", "", true)
	<-updates
	tries := f.opened.Load()
	await.Until(t, "further tries", func() bool { return f.opened.Load() > tries+3 })
	if len(updates) != 0 {
		t.Fatalf("%d more updates for one refusal", len(updates))
	}
	f.set(func() { delete(f.refuse, "test:a") })
	<-updates
	stop()
}

func TestWatchLimit(t *testing.T) {
	f := newFake("a")
	addr, _ := f.serve(t, "")
	tune := fast
	tune.watches = 1
	p, b, _ := started(t, Config{Target: addr}, tune)
	ready(t, p)
	_, stop := watching(t, b, mcp.Principal{}, "test:a")
	watching(t, b, mcp.Principal{}, "test:a")
	if _, err := b.Watch(t.Context(), mcp.Principal{}, "test:b", func(string) {}); mcp.AsError(err).Kind != mcp.KindLimit {
		t.Fatalf("err = %v, want KindLimit", err)
	}
	stop()
}

func TestWatchCancelled(t *testing.T) {
	f := newFake("a")
	addr, _ := f.serve(t, "")
	p, b, _ := started(t, Config{Target: addr}, fast)
	ready(t, p)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	stop, err := b.Watch(ctx, mcp.Principal{}, "test:a", func(string) {})
	if err == nil {
		// The backend was faster than the look at ctx.
		stop()
	} else if !errors.Is(err, context.Canceled) {
		t.Fatalf("err = %v", err)
	}
	await.Until(t, "no watch left", func() bool { return b.Status().Watches == 0 && f.watchesOpen() == 0 })
	p.Close()
	if _, err := b.Watch(t.Context(), mcp.Principal{}, "test:a", func(string) {}); err == nil {
		t.Fatal("a watch of a closed pool gave no error")
	}
}

func TestWatchPrivate(t *testing.T) {
	f := newFake()
	f.tools = privateTools(nil)
	addr, _ := f.serve(t, "")
	p, b, _ := started(t, Config{Target: addr}, fast)
	ready(t, p)
	watching(t, b, mcp.Principal{Subject: "ann", Issuer: "i"}, "test:a")
	watching(t, b, mcp.Principal{Subject: "bob", Issuer: "i"}, "test:a")
	watching(t, b, mcp.Principal{Subject: "bob", Issuer: "i"}, "test:a")
	if n := f.opened.Load(); n != 2 {
		t.Fatalf("%d streams for two principals, want 2", n)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.watchers[0].GetSubject() != "ann" || f.watchers[1].GetSubject() != "bob" {
		t.Fatalf("watchers = %v", f.watchers)
	}
}
