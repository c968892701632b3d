package backend

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// privateTools lists a tool named after the principal; asked counts the lists of principals.
func privateTools(asked *atomic.Int32) func(*pb.ListToolsRequest) (*pb.ListToolsResponse, error) {
	return func(r *pb.ListToolsRequest) (*pb.ListToolsResponse, error) {
		name := "public"
		if r.GetPrincipal() != nil {
			name = r.GetPrincipal().GetSubject()
			if asked != nil {
				asked.Add(1)
			}
		}
		return &pb.ListToolsResponse{Tools: toolsNamed(name), Cache: &pb.CacheHint{Scope: pb.CacheScope_CACHE_SCOPE_PRIVATE}}, nil
	}
}

func seen(t *testing.T, b *Backend, subject string) []string {
	t.Helper()
	c, err := b.CatalogFor(t.Context(), mcp.Principal{Subject: subject})
	if err != nil {
		t.Fatalf("catalog for %s: %v", subject, err)
	}
	if !c.Present || !c.HasResources || len(c.Resources) != 1 {
		t.Fatalf("the public part is missing: %+v", c)
	}
	return names(c)
}

func TestPrivateLists(t *testing.T) {
	var asked atomic.Int32
	f := newFake()
	f.tools = privateTools(&asked)
	addr, _ := f.serve(t, "")
	p, b, changes := started(t, Config{Target: addr, Claims: []string{"tenant"}}, fast)
	ready(t, p)
	await.Receive(t, "a change", changes)
	if c := b.Catalog(); !c.Private || !slices.Equal(names(c), []string{"public"}) {
		t.Fatalf("own catalog: private %v, %v", c.Private, names(c))
	}
	if c, err := b.CatalogFor(t.Context(), mcp.Principal{}); err != nil || c != b.Catalog() {
		t.Fatalf("the anonymous caller's catalog is not the edge's own: %v", err)
	}
	for range 3 {
		for _, who := range []string{"ann", "bob"} {
			if got := seen(t, b, who); !slices.Equal(got, []string{who}) {
				t.Fatalf("%s sees %v", who, got)
			}
		}
	}
	if n := asked.Load(); n != 2 {
		t.Fatalf("asked %d times for two principals, want 2", n)
	}
	// Scopes are part of who is asking.
	if _, err := b.CatalogFor(t.Context(), mcp.Principal{Subject: "ann", Scopes: []string{"x"}}); err != nil || asked.Load() != 3 {
		t.Fatalf("other scopes: %v, asked %d times", err, asked.Load())
	}
	// Roles, client, actor and the received claims also distinguish callers, and no two values are
	// confused.
	for i, who := range []mcp.Principal{
		{Subject: "ann", Roles: []string{"x"}}, {Subject: "ann", Client: "x"}, {Subject: "ann", Actor: "x"},
		{Subject: "ann", Scopes: []string{"a\x00b"}}, {Subject: "ann", Scopes: []string{"a", "b"}}, {Subject: "ann", Scopes: []string{"a"}, Roles: []string{"b"}},
		{Subject: "ann", Forwarded: map[string]json.RawMessage{"tenant": []byte(`"t1"`)}},
		{Subject: "ann", Forwarded: map[string]json.RawMessage{"tenant": []byte(`"t2"`)}},
	} {
		before := asked.Load()
		for range 2 {
			if _, err := b.CatalogFor(t.Context(), who); err != nil {
				t.Fatal(err)
			}
		}
		if n := asked.Load() - before; n != 1 {
			t.Errorf("%d: %+v: asked %d times, want once", i, who, n)
		}
	}
	before := asked.Load()
	for _, other := range []string{"a", "b"} { // The backend does not receive this claim.
		if _, err := b.CatalogFor(t.Context(), mcp.Principal{Subject: "cem", Forwarded: map[string]json.RawMessage{"other": []byte(`"` + other + `"`)}}); err != nil {
			t.Fatal(err)
		}
	}
	if n := asked.Load() - before; n != 1 {
		t.Errorf("asked %d times for one who differs in what the backend does not get", n)
	}
	// The edge's own list is the same, but a principal's may differ.
	f.changeTools(false)
	if got := await.Receive(t, "a change", changes); got.kinds != Tools {
		t.Fatalf("a private change is reported as %v", got.kinds)
	}
	before = asked.Load()
	seen(t, b, "ann")
	if n := asked.Load() - before; n != 1 {
		t.Fatalf("asked %d times, want once more after a change", n)
	}
}

func TestPrivateShared(t *testing.T) {
	var asked atomic.Int32
	list := privateTools(&asked)
	gate := make(chan struct{})
	f := newFake()
	f.tools = func(r *pb.ListToolsRequest) (*pb.ListToolsResponse, error) {
		res, err := list(r)
		if r.GetPrincipal() != nil {
			<-gate
		}
		return res, err
	}
	addr, _ := f.serve(t, "")
	p, b, _ := started(t, Config{Target: addr}, fast)
	ready(t, p)
	// One request ends; the read that it began continues for the others.
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() {
		_, err := b.CatalogFor(ctx, mcp.Principal{Subject: "ann"})
		gone <- err
	}()
	await.Until(t, "first reading", func() bool { return asked.Load() == 1 })
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Fatalf("err = %v", err)
	}
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if c, err := b.CatalogFor(t.Context(), mcp.Principal{Subject: "ann"}); err != nil || len(c.Tools) != 1 {
				t.Errorf("catalog: %v, %v", c, err)
			}
		})
	}
	close(gate)
	all.Wait()
	if n := asked.Load(); n != 1 {
		t.Fatalf("asked %d times, want once for all", n)
	}
}

func TestPrivateBounded(t *testing.T) {
	var asked atomic.Int32
	f := newFake()
	f.tools = privateTools(&asked)
	addr, _ := f.serve(t, "")
	tune := fast
	tune.principals = 2
	p, b, _ := started(t, Config{Target: addr}, tune)
	ready(t, p)
	for i, step := range []struct {
		who  string
		want int32
	}{{"a", 1}, {"b", 2}, {"a", 2}, {"c", 3}, {"a", 3}, {"b", 4}} {
		seen(t, b, step.who)
		if n := asked.Load(); n != step.want {
			t.Fatalf("step %d: asked %d times, want %d", i, n, step.want)
		}
	}
}

func TestPrivateWhileDown(t *testing.T) {
	f := newFake()
	f.tools = privateTools(nil)
	addr, kill := f.serve(t, "")
	p, b, _ := started(t, Config{Target: addr, Refresh: time.Millisecond, StaleAfter: time.Hour}, fast)
	ready(t, p)
	seen(t, b, "ann")
	kill()
	await.Until(t, "down", func() bool { return b.Status().State == Down })
	if got := seen(t, b, "ann"); !slices.Equal(got, []string{"ann"}) {
		t.Fatalf("ann sees %v of a lost backend, want the last list", got)
	}
	if _, err := b.CatalogFor(t.Context(), mcp.Principal{Subject: "bob"}); status.Code(err) != codes.Unavailable {
		t.Fatalf("err = %v, want Unavailable", err)
	}
}

// prover proves who calls while it has no error. failed counts when it had.
type prover struct {
	err    atomic.Pointer[mcp.Error]
	failed atomic.Int32
}

func (p *prover) Prove(context.Context, *mcp.Principal, string) (key, value string, err error) {
	if e := p.err.Load(); e != nil {
		p.failed.Add(1)
		return "", "", e
	}
	return "mcp-identity", "x", nil
}

// A caller's cached lists are served during an outage of the issuer that proves the caller's
// identity, as during one of the backend. They are not served after the issuer's refusal.
func TestPrivateWhileNobodyProves(t *testing.T) {
	f := newFake()
	f.tools = privateTools(nil)
	addr, _ := f.serve(t, "")
	who := &prover{}
	p, b, _ := started(t, Config{Target: addr, Refresh: time.Millisecond, StaleAfter: time.Hour, Identity: who}, fast)
	ready(t, p)
	for kind, kept := range map[mcp.Kind]bool{mcp.KindUnavailable: true, mcp.KindTimeout: true, mcp.KindForbidden: false} {
		who.err.Store(nil)
		seen(t, b, "ann")
		who.err.Store(mcp.Errorf(kind, "not now"))
		before := who.failed.Load()
		await.Until(t, "the list to be asked for", func() bool {
			c, err := b.CatalogFor(t.Context(), mcp.Principal{Subject: "ann"})
			failed := who.failed.Load() > before
			if failed && (err == nil) != kept || kept && (err != nil || !slices.Equal(names(c), []string{"ann"})) {
				t.Fatalf("%v: %v", kind, err)
			}
			return failed
		})
	}
}

func TestPrivateRefused(t *testing.T) {
	f := newFake()
	list := privateTools(nil)
	f.tools = func(r *pb.ListToolsRequest) (*pb.ListToolsResponse, error) {
		if r.GetPrincipal().GetSubject() == "eve" {
			return nil, status.Error(codes.PermissionDenied, "not you")
		}
		return list(r)
	}
	addr, _ := f.serve(t, "")
	p, b, _ := started(t, Config{Target: addr}, fast)
	ready(t, p)
	if _, err := b.CatalogFor(t.Context(), mcp.Principal{Subject: "eve"}); status.Code(err) != codes.PermissionDenied {
		t.Fatalf("err = %v, want PermissionDenied", err)
	}
}
