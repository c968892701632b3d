package backend

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

func TestComesLate(t *testing.T) {
	addr := freeAddr(t)
	p, b, changes := started(t, Config{Target: addr}, fast)
	ready(t, p)
	if c := b.Catalog(); c.Present || c.Describe == nil || len(c.Tools) != 0 {
		t.Fatalf("catalog of a backend that never was: %+v", c)
	}
	await.Until(t, "down with the reason", func() bool {
		s := b.Status()
		return s.State == Down && strings.Contains(s.LastError, "refused")
	})
	newFake("a").serve(t, addr)
	got := await.Receive(t, "a change", changes)
	if got.kinds != Tools|Resources || !slices.Equal(names(got.catalog), []string{"a"}) || !got.catalog.Present {
		t.Fatalf("change = %v with %v", got.kinds, names(got.catalog))
	}
	await.Until(t, "ready", func() bool { return b.Status().State == Ready })
}

func TestGoesAndComesBackChanged(t *testing.T) {
	for name, noFeed := range map[string]bool{"with feed": false, "without feed": true} {
		t.Run(name, func(t *testing.T) {
			f := newFake("a")
			f.describe.Tools.ListChanged = !noFeed
			addr, kill := f.serve(t, "")
			p, b, changes := started(t, Config{Target: addr, StaleAfter: time.Hour}, fast)
			ready(t, p)
			await.Receive(t, "a change", changes)
			kill()
			await.Until(t, "down", func() bool { return b.Status().State == Down })
			if !slices.Equal(names(b.Catalog()), []string{"a"}) {
				t.Fatalf("tools of a lost backend = %v, want the last ones", names(b.Catalog()))
			}
			again := newFake("a", "b")
			again.describe.Tools.ListChanged = !noFeed
			again.describe.Implementation.Version = "2"
			again.serve(t, addr)
			got := await.Receive(t, "a change", changes)
			if got.kinds != Tools || !slices.Equal(names(got.catalog), []string{"a", "b"}) {
				t.Fatalf("change = %v with %v, want tools [a b]", got.kinds, names(got.catalog))
			}
			if v := got.catalog.Describe.Implementation.Version; v != "2" {
				t.Fatalf("described as version %s, want 2", v)
			}
		})
	}
}

func TestHealth(t *testing.T) {
	checks := health.NewServer()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f, s := newFake("a"), grpc.NewServer()
	pb.RegisterBackendServiceServer(s, f)
	pb.RegisterToolServiceServer(s, f)
	healthpb.RegisterHealthServer(s, checks)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l)
	}()
	t.Cleanup(func() {
		s.Stop()
		<-done
	})
	p, b, _ := started(t, Config{Target: l.Addr().String()}, fast)
	ready(t, p)
	await.Until(t, "ready", func() bool { return b.Status().State == Ready })
	checks.SetServingStatus("", healthpb.HealthCheckResponse_NOT_SERVING)
	await.Until(t, "down", func() bool { return b.Status().State == Down })
	if why := b.Status().LastError; !strings.Contains(why, "NOT_SERVING") {
		t.Fatalf("last error = %q, want NOT_SERVING", why)
	}
	checks.SetServingStatus("", healthpb.HealthCheckResponse_SERVING)
	await.Until(t, "ready again", func() bool { return b.Status().State == Ready })
}

func TestGoesStale(t *testing.T) {
	addr, kill := newFake("a").serve(t, "")
	p, b, changes := started(t, Config{Target: addr, StaleAfter: 50 * time.Millisecond}, fast)
	ready(t, p)
	await.Receive(t, "a change", changes)
	kill()
	got := await.Receive(t, "a change", changes)
	if got.kinds != Tools|Resources || got.catalog.Present || got.catalog.HasTools || got.catalog.Digest != (mcp.Digest{}) {
		t.Fatalf("change = %v with %+v, want an empty catalog", got.kinds, got.catalog)
	}
	if _, err := b.Watch(t.Context(), mcp.Principal{}, "test:a", func(string) {}); mcp.AsError(err).Kind != mcp.KindUnavailable {
		t.Fatalf("watch of an absent backend: %v", err)
	}
}

func TestFeedChanged(t *testing.T) {
	f := newFake("a")
	addr, _ := f.serve(t, "")
	p, b, changes := started(t, Config{Target: addr}, fast)
	ready(t, p)
	first := await.Receive(t, "a change", changes)
	if n := f.toolLists.Load(); n != 1 {
		t.Fatalf("listed %d times at the start, want once, after started", n)
	}
	// Equal content is no change.
	f.changeTools(false)
	await.Until(t, "second list", func() bool { return f.toolLists.Load() == 2 })
	f.setTools("a", "c")
	f.changeTools(false)
	got := await.Receive(t, "a change", changes)
	if got.kinds != Tools || !slices.Equal(names(got.catalog), []string{"a", "c"}) {
		t.Fatalf("change = %v with %v", got.kinds, names(got.catalog))
	}
	if got.catalog.Digest.Tools == first.catalog.Digest.Tools || got.catalog.Digest.Resources != first.catalog.Digest.Resources {
		t.Fatalf("digests %v, then %v: only tools should differ", first.catalog.Digest, got.catalog.Digest)
	}
	if b.Catalog() != got.catalog {
		t.Fatal("the catalog is not the one reported")
	}
}

func TestFeedReopens(t *testing.T) {
	f := newFake("a")
	addr, _ := f.serve(t, "")
	p, _, changes := started(t, Config{Target: addr}, fast)
	ready(t, p)
	await.Receive(t, "a change", changes)
	f.setTools("b")
	f.changeTools(true)
	if got := await.Receive(t, "a change", changes); !slices.Equal(names(got.catalog), []string{"b"}) {
		t.Fatalf("after a broken feed: %v, want [b]", names(got.catalog))
	}
	if n := f.described.Load(); n != 1 {
		t.Fatalf("described %d times, want once", n)
	}
}

func TestRefreshWithoutFeed(t *testing.T) {
	f := newFake("a")
	f.noFeed = true
	addr, _ := f.serve(t, "")
	p, b, changes := started(t, Config{Target: addr, Refresh: 10 * time.Millisecond}, fast)
	ready(t, p)
	await.Receive(t, "a change", changes)
	if pr := b.Status().Problems; len(pr) != 1 || !strings.Contains(pr[0], "change feed of tools") {
		t.Fatalf("problems = %q, want the missing feed", pr)
	}
	f.setTools("b")
	if got := await.Receive(t, "a change", changes); got.kinds != Tools || !slices.Equal(names(got.catalog), []string{"b"}) {
		t.Fatalf("refresh gave %v with %v", got.kinds, names(got.catalog))
	}
}

func TestFeedWithoutStarted(t *testing.T) {
	f := newFake("a")
	f.mute = true
	addr, _ := f.serve(t, "")
	tune := fast
	tune.settle = 20 * time.Millisecond
	p, b, changes := started(t, Config{Target: addr}, tune)
	ready(t, p)
	await.Receive(t, "a change", changes)
	await.Until(t, "problem", func() bool { return strings.Contains(strings.Join(b.Status().Problems, ";"), "started") })
	await.Until(t, "the feed to be open", func() bool { return f.feedsOpen() == 1 })
	f.setTools("b")
	f.changeTools(false)
	if got := await.Receive(t, "a change", changes); !slices.Equal(names(got.catalog), []string{"b"}) {
		t.Fatalf("a change before started was lost: %v", names(got.catalog))
	}
}

func TestWithoutDescribe(t *testing.T) {
	f := newFake("a")
	f.describe = nil
	addr, _ := f.serve(t, "")
	p, b, _ := started(t, Config{Target: addr}, fast)
	ready(t, p)
	c := b.Catalog()
	if !c.HasTools || !c.HasResources || c.HasPrompts {
		t.Fatalf("served: tools %v, resources %v, prompts %v; want true, true, false", c.HasTools, c.HasResources, c.HasPrompts)
	}
	d := c.Describe
	if !d.GetTools().GetListChanged() || !d.GetResources().GetSubscribe() || d.GetResources().GetCompletion() ||
		d.GetResources().GetListChanged() || d.Prompts != nil {
		t.Fatalf("features found = %v", d)
	}
	if pr := b.Status().Problems; len(pr) != 0 {
		t.Fatalf("problems = %q", pr)
	}
}

func TestSubsetOfServices(t *testing.T) {
	f := newFake()
	f.describe = nil
	f.prompts = func(*pb.ListPromptsRequest) (*pb.ListPromptsResponse, error) {
		return &pb.ListPromptsResponse{Prompts: []*pb.Prompt{{Name: "p"}}}, nil
	}
	addr, _ := f.serve(t, "", Prompts)
	p, b, _ := started(t, Config{Target: addr}, fast)
	ready(t, p)
	if c := b.Catalog(); c.HasTools || c.HasResources || !c.HasPrompts || len(c.Prompts) != 1 || c.Digest.Tools != 0 || c.Digest.Prompts == 0 {
		t.Fatalf("catalog = %+v", c)
	}
}

func TestOneListFails(t *testing.T) {
	f := newFake("a")
	f.describe.Prompts = &pb.PromptFeatures{}
	f.prompts = func(*pb.ListPromptsRequest) (*pb.ListPromptsResponse, error) {
		return nil, status.Error(codes.Internal, "out of ink")
	}
	addr, _ := f.serve(t, "")
	p, b, changes := started(t, Config{Target: addr}, fast)
	ready(t, p)
	if got := await.Receive(t, "a change", changes); got.kinds != Tools|Resources {
		t.Fatalf("change = %v", got.kinds)
	}
	if s := b.Status(); s.State != Ready || !strings.Contains(s.LastError, "out of ink") || len(s.Problems) != 1 || !s.Loaded.IsZero() {
		t.Fatalf("status = %+v", s)
	}
	f.set(func() {
		f.prompts = func(*pb.ListPromptsRequest) (*pb.ListPromptsResponse, error) {
			return &pb.ListPromptsResponse{Prompts: []*pb.Prompt{{Name: "p"}}}, nil
		}
	})
	if got := await.Receive(t, "a change", changes); got.kinds != Prompts || !got.catalog.HasPrompts {
		t.Fatalf("change = %v", got.kinds)
	}
}

func TestAcquire(t *testing.T) {
	p, err := NewPool([]Config{{Name: "one", Target: freeAddr(t), MaxConcurrent: 2}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	b := p.Backends()[0] // not started: connecting allocates
	one, err := b.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	two, err := b.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Acquire(); mcp.AsError(err).Kind != mcp.KindLimit {
		t.Fatalf("third call: %v, want KindLimit", err)
	}
	if n := b.Status().Calls; n != 2 {
		t.Fatalf("calls = %d, want 2", n)
	}
	one()
	if n := testing.AllocsPerRun(100, func() {
		release, err := b.Acquire()
		if err != nil {
			t.Fatal(err)
		}
		release()
	}); n != 0 {
		t.Fatalf("Acquire allocates %v times", n)
	}
	two()
}

func TestPoolErrors(t *testing.T) {
	for name, cfgs := range map[string][]Config{
		"no name":      {{Target: "x"}},
		"no target":    {{Name: "x"}},
		"same name":    {{Name: "x", Target: "x"}, {Name: "x", Target: "y"}},
		"bad target":   {{Name: "x", Target: "nosuch://%zz\x00"}},
		"negative":     {{Name: "x", Target: "x", Timeout: -1}},
		"negative max": {{Name: "x", Target: "x", MaxConcurrent: -1}},
	} {
		t.Run(name, func(t *testing.T) {
			if p, err := NewPool(cfgs, Options{}); err == nil {
				p.Close()
				t.Fatal("no error")
			}
		})
	}
}

func TestReadyEnds(t *testing.T) {
	p, err := NewPool([]Config{{Name: "x", Target: freeAddr(t)}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Ready(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("Ready = %v", err)
	}
	p.Close()
	p.Start(t.Context())
	if err := p.Ready(t.Context()); err == nil {
		t.Fatal("Ready of a closed pool gave no error")
	}
}

func TestPaging(t *testing.T) {
	f := newFake()
	f.tools = func(r *pb.ListToolsRequest) (*pb.ListToolsResponse, error) {
		hint := &pb.CacheHint{Scope: pb.CacheScope_CACHE_SCOPE_PUBLIC}
		if r.PageToken == "" {
			return &pb.ListToolsResponse{Tools: toolsNamed("a", "b"), NextPageToken: "2", Cache: hint}, nil
		}
		if r.PageToken != "2" {
			return nil, status.Errorf(codes.InvalidArgument, "token %q", r.PageToken)
		}
		return &pb.ListToolsResponse{Tools: toolsNamed("c"), Cache: hint}, nil
	}
	addr, _ := f.serve(t, "")
	p, b, _ := started(t, Config{Target: addr}, fast)
	ready(t, p)
	if c := b.Catalog(); !slices.Equal(names(c), []string{"a", "b", "c"}) || !c.ToolsHint.Public || c.Private {
		t.Fatalf("tools %v, hint %+v, private %v", names(c), c.ToolsHint, c.Private)
	}
}

func TestPagingBounds(t *testing.T) {
	many := make([]string, MaxEntries/10+1)
	for i := range many {
		many[i] = fmt.Sprint("t", i)
	}
	for name, test := range map[string]struct {
		tools func(*pb.ListToolsRequest) (*pb.ListToolsResponse, error)
		want  string
	}{
		"loop": {func(*pb.ListToolsRequest) (*pb.ListToolsResponse, error) {
			return &pb.ListToolsResponse{NextPageToken: "again"}, nil
		}, "second time"},
		"endless": {func(r *pb.ListToolsRequest) (*pb.ListToolsResponse, error) {
			return &pb.ListToolsResponse{NextPageToken: r.PageToken + "x"}, nil
		}, "pages"},
		"entries": {func(r *pb.ListToolsRequest) (*pb.ListToolsResponse, error) {
			return &pb.ListToolsResponse{Tools: toolsNamed(many...), NextPageToken: r.PageToken + "x"}, nil
		}, "entries"},
		"bytes": {func(r *pb.ListToolsRequest) (*pb.ListToolsResponse, error) {
			return &pb.ListToolsResponse{Tools: []*pb.Tool{{Name: "a", Description: strings.Repeat("x", 14<<20)}}, NextPageToken: r.PageToken + "x"}, nil
		}, "bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			f.tools = test.tools
			addr, _ := f.serve(t, "")
			tune := fast
			tune.retryMin, tune.retryMax = time.Hour, time.Hour
			p, b, _ := started(t, Config{Target: addr}, tune)
			ready(t, p)
			if c := b.Catalog(); c.HasTools || !c.HasResources {
				t.Fatalf("tools %v, resources %v: want the latter only", c.HasTools, c.HasResources)
			}
			if s := b.Status(); !strings.Contains(s.LastError, test.want) {
				t.Fatalf("last error %q does not say %q", s.LastError, test.want)
			}
		})
	}
}

// A hint, like the description, is no content: it is swapped in, and reported without a kind.
func TestHintChanged(t *testing.T) {
	f := newFake("a")
	addr, _ := f.serve(t, "")
	p, _, changes := started(t, Config{Target: addr}, fast)
	ready(t, p)
	before := await.Receive(t, "a change", changes)
	f.set(func() {
		f.tools = func(*pb.ListToolsRequest) (*pb.ListToolsResponse, error) {
			return &pb.ListToolsResponse{Tools: toolsNamed("a"), Cache: &pb.CacheHint{Ttl: durationpb.New(time.Minute), Scope: pb.CacheScope_CACHE_SCOPE_PUBLIC}}, nil
		}
	})
	f.changeTools(false)
	got := await.Receive(t, "a change", changes)
	if got.kinds != 0 || got.catalog.ToolsHint != (Hint{time.Minute, true}) || got.catalog.Digest != before.catalog.Digest {
		t.Fatalf("change = %v, hint %+v", got.kinds, got.catalog.ToolsHint)
	}
}

// What is closed in the midst of its work leaves nothing behind: TestMain looks for goroutines.
func TestCloseAtAnyTime(t *testing.T) {
	f := newFake("a")
	f.tools = privateTools(nil)
	addr, _ := f.serve(t, "")
	for range 10 {
		p, b, _ := started(t, Config{Target: addr, Refresh: time.Millisecond}, fast)
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				for p.Ready(t.Context()) == nil {
					who := mcp.Principal{Subject: fmt.Sprint(i)}
					_, failed := b.CatalogFor(t.Context(), who)
					stop, err := b.Watch(t.Context(), who, "test:a", func(string) {})
					if err == nil {
						stop()
					}
					if failed != nil || err != nil {
						return
					}
				}
			})
		}
		ready(t, p)
		p.Close()
		p.Close()
		all.Wait()
		if n := b.Status().Watches; n != 0 {
			t.Fatalf("%d watches are left", n)
		}
	}
}

// A backend that hangs keeps its connection; the next Describe detects it. The error is removed
// once the backend answers again.
func TestHangs(t *testing.T) {
	f := newFake("a")
	addr, _ := f.serve(t, "")
	tune := fast
	tune.describe = 50 * time.Millisecond
	p, b, _ := started(t, Config{Target: addr, Refresh: 10 * time.Millisecond}, tune)
	ready(t, p)
	await.Until(t, "ready", func() bool { return b.Status().State == Ready })
	f.describing.Lock()
	var s Status
	await.Until(t, "down", func() bool {
		s = b.Status()
		return s.State == Down
	})
	if !strings.Contains(s.LastError, "it accepts connections, but did not answer within 50ms") {
		t.Errorf("why it is down: %s", s.LastError)
	}
	f.describing.Unlock()
	await.Until(t, "ready again, without an error", func() bool {
		s := b.Status()
		return s.State == Ready && s.LastError == "" && len(s.Problems) == 0
	})
}
