package backend

import (
	"context"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/status"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/freeport"
)

func TestMain(m *testing.M) {
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
	goleak.VerifyTestMain(m)
}

// fake is a backend whose answers tests replace. Every method is safe for concurrent use.
type fake struct {
	pb.UnimplementedBackendServiceServer
	pb.UnimplementedToolServiceServer
	pb.UnimplementedResourceServiceServer
	pb.UnimplementedPromptServiceServer

	// describing is held by a test in which Describe does not answer.
	describing sync.Mutex

	mu       sync.Mutex
	describe *pb.DescribeResponse // nil: UNIMPLEMENTED
	tools    func(*pb.ListToolsRequest) (*pb.ListToolsResponse, error)
	prompts  func(*pb.ListPromptsRequest) (*pb.ListPromptsResponse, error)
	feeds    map[chan *pb.WatchToolsResponse]bool
	noFeed   bool
	mute     bool // the feed never says started
	refuse   map[string]error
	watches  map[chan *pb.WatchResourceResponse]string
	watchers []*pb.Principal // of every watch opened

	toolLists, described atomic.Int32
	opened               atomic.Int32 // resource watches ever opened
}

func newFake(names ...string) *fake {
	f := &fake{
		feeds: map[chan *pb.WatchToolsResponse]bool{}, refuse: map[string]error{},
		watches: map[chan *pb.WatchResourceResponse]string{},
		describe: &pb.DescribeResponse{
			Implementation: &pb.Implementation{Name: "fake", Version: "1"},
			Tools:          &pb.ToolFeatures{ListChanged: true},
			Resources:      &pb.ResourceFeatures{Subscribe: true},
		},
	}
	f.setTools(names...)
	return f
}

func (f *fake) set(fn func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fn()
}

func toolsNamed(names ...string) []*pb.Tool {
	var tools []*pb.Tool
	for _, n := range names {
		tools = append(tools, &pb.Tool{Name: n})
	}
	return tools
}

func (f *fake) setTools(names ...string) {
	f.set(func() {
		f.tools = func(*pb.ListToolsRequest) (*pb.ListToolsResponse, error) {
			return &pb.ListToolsResponse{Tools: toolsNamed(names...)}, nil
		}
	})
}

func (f *fake) Describe(context.Context, *pb.DescribeRequest) (*pb.DescribeResponse, error) {
	f.described.Add(1)
	f.describing.Lock()
	defer f.describing.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.describe == nil {
		return nil, status.Error(codes.Unimplemented, "no Describe")
	}
	return f.describe, nil
}

func (f *fake) ListTools(_ context.Context, r *pb.ListToolsRequest) (*pb.ListToolsResponse, error) {
	f.toolLists.Add(1)
	f.mu.Lock()
	list := f.tools
	f.mu.Unlock()
	return list(r)
}

func (f *fake) ListResources(context.Context, *pb.ListResourcesRequest) (*pb.ListResourcesResponse, error) {
	return &pb.ListResourcesResponse{Resources: []*pb.Resource{{Uri: "test:a", Name: "a"}}}, nil
}

func (f *fake) ListPrompts(_ context.Context, r *pb.ListPromptsRequest) (*pb.ListPromptsResponse, error) {
	f.mu.Lock()
	list := f.prompts
	f.mu.Unlock()
	if list == nil {
		return nil, status.Error(codes.Unimplemented, "no prompts")
	}
	return list(r)
}

func (f *fake) WatchTools(_ *pb.WatchToolsRequest, s grpc.ServerStreamingServer[pb.WatchToolsResponse]) error {
	events := make(chan *pb.WatchToolsResponse, 16)
	f.mu.Lock()
	if f.noFeed {
		f.mu.Unlock()
		return status.Error(codes.Unimplemented, "no feed")
	}
	mute := f.mute
	f.feeds[events] = true
	f.mu.Unlock()
	defer f.set(func() { delete(f.feeds, events) })
	if !mute {
		if err := s.Send(&pb.WatchToolsResponse{Event: &pb.WatchToolsResponse_Started{Started: &pb.WatchStarted{}}}); err != nil {
			return err
		}
	}
	for {
		select {
		case e := <-events:
			if e == nil {
				return status.Error(codes.Unavailable, "feed cut")
			}
			if err := s.Send(e); err != nil {
				return err
			}
		case <-s.Context().Done():
			return s.Context().Err()
		}
	}
}

// changeTools notifies all feeds of a change; cut ends them instead.
func (f *fake) changeTools(cut bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.feeds {
		if cut {
			c <- nil
			continue
		}
		c <- &pb.WatchToolsResponse{Event: &pb.WatchToolsResponse_Changed{Changed: &pb.ListChanged{}}}
	}
}

func (f *fake) WatchResource(r *pb.WatchResourceRequest, s grpc.ServerStreamingServer[pb.WatchResourceResponse]) error {
	f.opened.Add(1)
	events := make(chan *pb.WatchResourceResponse, 16)
	f.mu.Lock()
	if err := f.refuse[r.GetUri()]; err != nil {
		f.mu.Unlock()
		return err
	}
	f.watches[events] = r.GetUri()
	f.watchers = append(f.watchers, r.GetPrincipal())
	f.mu.Unlock()
	defer f.set(func() { delete(f.watches, events) })
	if err := s.Send(&pb.WatchResourceResponse{Event: &pb.WatchResourceResponse_Started{Started: &pb.WatchStarted{}}}); err != nil {
		return err
	}
	for {
		select {
		case e := <-events:
			if e == nil {
				return status.Error(codes.Unavailable, "watch cut")
			}
			if err := s.Send(e); err != nil {
				return err
			}
		case <-s.Context().Done():
			return s.Context().Err()
		}
	}
}

// update notifies the watches of a URI that sub changed; cut ends them instead.
func (f *fake) update(uri, sub string, cut bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c, u := range f.watches {
		if u != uri {
			continue
		}
		if cut {
			c <- nil
			continue
		}
		c <- &pb.WatchResourceResponse{Event: &pb.WatchResourceResponse_Updated{Updated: &pb.ResourceUpdated{Uri: sub}}}
	}
}

func (f *fake) feedsOpen() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.feeds)
}

func (f *fake) watchesOpen() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.watches)
}

// serve serves the fake at an address ("": a free one) and returns it, and what kills it.
func (f *fake) serve(t *testing.T, addr string, services ...Kinds) (string, func()) {
	t.Helper()
	if addr == "" {
		addr = freeAddr(t)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatalf("listen on %s: %v", addr, err)
	}
	s := grpc.NewServer()
	serves := allKinds
	if len(services) > 0 {
		serves = services[0]
	}
	pb.RegisterBackendServiceServer(s, f)
	if serves.Has(Tools) {
		pb.RegisterToolServiceServer(s, f)
	}
	if serves.Has(Resources) {
		pb.RegisterResourceServiceServer(s, f)
	}
	if serves.Has(Prompts) {
		pb.RegisterPromptServiceServer(s, f)
	}
	return serveOn(t, s, l)
}

// registerAll registers the lists of the fake.
func registerAll(s *grpc.Server, f *fake) {
	pb.RegisterToolServiceServer(s, f)
	pb.RegisterResourceServiceServer(s, f)
	pb.RegisterPromptServiceServer(s, f)
}

// serveMore serves the fake's Describe with services of the test's.
func serveMore(t *testing.T, f *fake, register func(*grpc.Server)) (string, func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	pb.RegisterBackendServiceServer(s, f)
	register(s)
	return serveOn(t, s, l)
}

// serveOn serves until the test ends, and returns the address and what kills the server.
func serveOn(t *testing.T, s *grpc.Server, l net.Listener) (string, func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l)
	}()
	stop := sync.OnceFunc(func() {
		s.Stop()
		<-done
	})
	t.Cleanup(stop)
	return l.Addr().String(), stop
}

// freeAddr is an address without a listener.
func freeAddr(t *testing.T) string {
	t.Helper()
	addr, err := freeport.Addr()
	if err != nil {
		t.Fatal(err)
	}
	return addr
}

var fast = tuning{
	retryMin: 5 * time.Millisecond, retryMax: 50 * time.Millisecond,
	dialMin: 5 * time.Millisecond, dialMax: 20 * time.Millisecond, connect: 5 * time.Second, describe: await.Patience,
	settle: await.Patience, gap: time.Millisecond, gapMax: 20 * time.Millisecond, lingering: 50 * time.Millisecond,
	watches: MaxWatches, principals: MaxPrincipals,
}

// change is one call of OnChange.
type change struct {
	kinds   Kinds
	catalog *Catalog
}

// started is a pool of one backend and what it reports.
func started(t *testing.T, cfg Config, tune tuning) (*Pool, *Backend, <-chan change) {
	t.Helper()
	if cfg.Name == "" {
		cfg.Name = "one"
	}
	if cfg.Refresh == 0 {
		cfg.Refresh = time.Hour
	}
	p, err := NewPool([]Config{cfg}, Options{Logger: slog.New(slog.DiscardHandler), tune: &tune})
	if err != nil {
		t.Fatal(err)
	}
	changes := make(chan change, 100)
	p.OnChange(func(b *Backend, kinds Kinds) { changes <- change{kinds, b.Catalog()} })
	t.Cleanup(p.Close)
	p.Start(t.Context())
	return p, p.Backends()[0], changes
}

func ready(t *testing.T, p *Pool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
	defer cancel()
	if err := p.Ready(ctx); err != nil {
		t.Fatal(err)
	}
}

func names(c *Catalog) []string {
	names := make([]string, len(c.Tools))
	for i, tool := range c.Tools {
		names[i] = tool.GetName()
	}
	return names
}
