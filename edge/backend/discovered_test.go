package backend

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// found is a discovered backend, which is not listed without a request.
func found(name, target, revision string) Config {
	return Config{Name: name, Target: target, Refresh: time.Hour, Revision: revision}
}

// named are the names of the backends that there are.
func named(p *Pool) (names []string) {
	for _, b := range p.Backends() {
		names = append(names, b.Name())
	}
	return names
}

func TestDiscover(t *testing.T) {
	first, second := newFake("a"), newFake("b")
	one, _ := first.serve(t, "")
	two, _ := second.serve(t, "")
	p, configured, changes := started(t, Config{Name: "m", Target: one}, fast)
	await.Receive(t, "the configured one", changes)

	err := p.Discover([]Config{found("z", two, "1"), found("b", two, "1"), found("m", two, "1"), found("b", one, "2"), found("x", "", "1")}, 0)
	if err == nil || !strings.Contains(err.Error(), `"m" was discovered and is left out: a configured backend`) ||
		!strings.Contains(err.Error(), `"b" was discovered and is left out: another one`) || !strings.Contains(err.Error(), `"x" has no target`) {
		t.Errorf("the error is %v", err)
	}
	if got := named(p); !slices.Equal(got, []string{"m", "b", "z"}) || p.Backends()[0] != configured {
		t.Fatalf("the backends are %v: want the configured one, then the others by name", got)
	}
	for range 2 {
		if got := await.Receive(t, "a list", changes); !got.kinds.Has(Tools) || !slices.Equal(names(got.catalog), []string{"b"}) {
			t.Errorf("%v changed, with %v", got.kinds, names(got.catalog))
		}
	}
	ready(t, p)

	kept, replaced := p.Backends()[1], p.Backends()[2]
	if err := p.Discover([]Config{found("b", two, "1"), found("z", one, "2")}, 0); err != nil {
		t.Fatal(err)
	}
	if all := p.Backends(); all[1] != kept || all[2] == replaced {
		t.Error("want the one of the same revision kept, and the other replaced")
	}
	await.Until(t, "the replacement to be listed", func() bool { return slices.Equal(names(p.Backends()[2].Catalog()), []string{"a"}) })
}

func TestDismissedBackendEndsItsCalls(t *testing.T) {
	f := newFake("slow")
	target, _ := f.serve(t, "")
	p, _, changes := started(t, Config{Name: "m", Target: freeAddr(t)}, fast)
	if err := p.Discover([]Config{found("b", target, "1")}, time.Minute); err != nil {
		t.Fatal(err)
	}
	await.Receive(t, "its list", changes)
	b := p.Backends()[1]
	release, err := b.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Discover(nil, time.Minute); err != nil {
		t.Fatal(err)
	}
	if got := named(p); !slices.Equal(got, []string{"m"}) {
		t.Errorf("the backends are %v", got)
	}
	if got := await.Receive(t, "a change", changes); got.kinds != allKinds {
		t.Errorf("%v changed, want all", got.kinds)
	}
	// It serves the call that runs for longer than it would stay without one.
	until := time.Now().Add(4 * fast.lingering)
	for time.Now().Before(until) {
		if _, err := b.Tools().ListTools(t.Context(), &pb.ListToolsRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	release()
	// A connection says that it is shut down before it takes no more calls.
	await.Until(t, "it to refuse calls, as it is closed", func() bool {
		_, err := b.Tools().ListTools(t.Context(), &pb.ListToolsRequest{})
		return status.Code(err) == codes.Canceled
	})
	if state := b.conn.GetState(); state != connectivity.Shutdown {
		t.Errorf("its connection is %v", state)
	}
}

// Neither the end of the drain nor that of the pool waits for calls.
func TestDismissedBackendIsClosedWithCalls(t *testing.T) {
	target, _ := newFake("a").serve(t, "")
	p, _, changes := started(t, Config{Name: "m", Target: freeAddr(t)}, fast)
	for _, drain := range []time.Duration{0, time.Hour} {
		if err := p.Discover([]Config{found("b", target, "1")}, drain); err != nil {
			t.Fatal(err)
		}
		await.Until(t, "its list", func() bool { return (<-changes).catalog.Present })
		b := p.Backends()[1]
		if _, err := b.Acquire(); err != nil {
			t.Fatal(err)
		}
		if err := p.Discover(nil, drain); err != nil {
			t.Fatal(err)
		}
		if drain > 0 {
			p.Close()
		}
		await.Until(t, "it to be closed", func() bool { return b.conn.GetState() == connectivity.Shutdown })
	}
	if err := p.Discover([]Config{found("b", target, "1")}, 0); err == nil || len(p.Backends()) != 1 {
		t.Errorf("a closed pool takes backends: %v", err)
	}
}

// What is discovered before the pool is started is connected to with it.
func TestDiscoverBeforeStart(t *testing.T) {
	target, _ := newFake("a").serve(t, "")
	p, err := NewPool(nil, Options{tune: &fast})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Discover([]Config{found("b", target, "1")}, 0); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Ready(ctx); err == nil {
		t.Error("ready before the start")
	}
	p.Start(t.Context())
	ready(t, p)
	if !p.Backends()[0].Catalog().Present {
		t.Error("nothing of it is shown")
	}
}

// TestWarmedBackends: discovered backends with other settings are listed before they are used, and those
// that are not used are closed.
func TestWarmedBackends(t *testing.T) {
	f := newFake("a")
	target, _ := f.serve(t, "")
	p, _, changes := started(t, Config{Name: "m", Target: freeAddr(t)}, fast)
	if err := p.Discover([]Config{found("b", target, "1"), found("c", target, "1")}, 0); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		await.Receive(t, "a list", changes)
	}
	kept, was := p.Backends()[2], p.Backends()[1]
	r, err := p.Prepare([]Config{{Name: "m", Target: freeAddr(t), Revision: "2"}})
	if err != nil {
		t.Fatal(err)
	}
	r.PrepareServices([]Config{found("b", target, "2"), found("c", target, "1"), found("d", target, "1"), found("x", "", "1")})
	r.Await(t.Context())
	if all := p.Backends(); all[1] != was || all[2] != kept {
		t.Error("a backend is used before Discover")
	}
	r.Apply(0)
	if err := p.Discover([]Config{found("b", target, "2"), found("c", target, "1")}, 0); err != nil {
		t.Fatal(err)
	}
	all := p.Backends()
	if all[1] == was || all[2] != kept || !slices.Equal(names(all[1].Catalog()), []string{"a"}) {
		t.Errorf("the backends are %v, the new one has %v", named(p), names(all[1].Catalog()))
	}
	unused := slices.Clone(r.prepared)
	r.DiscardServices()
	if len(p.prepared) > 0 {
		t.Errorf("%d unused backends are kept", len(p.prepared))
	}
	for _, b := range unused {
		if b != all[1] && b.conn.GetState() != connectivity.Shutdown {
			t.Errorf("%s was not closed", b.Name())
		}
	}
}
