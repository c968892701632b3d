package backend

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/mcp"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// swollen is a backend whose calls end with large headers, trailers or statuses.
type swollen struct {
	pb.UnimplementedToolServiceServer
}

func (swollen) CallTool(r *pb.CallToolRequest, s grpc.ServerStreamingServer[pb.CallToolResponse]) error {
	much := metadata.Pairs("x-much", strings.Repeat("m", 1<<20))
	switch r.GetName() {
	case "header":
		if err := s.SendHeader(much); err != nil {
			return err
		}
	case "trailer":
		s.SetTrailer(much)
	case "status":
		return status.Error(codes.InvalidArgument, strings.Repeat("s", 1<<20))
	}
	return status.Error(codes.InvalidArgument, "small")
}

// The headers and trailers of a backend are bounded: larger ones fail the call, and are not stored.
func TestHeaderList(t *testing.T) {
	f := newFake("a")
	addr, _ := serveMore(t, f, func(s *grpc.Server) { pb.RegisterToolServiceServer(s, swollen{}) })
	p, b, _ := started(t, Config{Target: addr}, fast)
	ready(t, p)
	for name, small := range map[string]bool{"": true, "header": false, "trailer": false, "status": false} {
		stream, err := b.Tools().CallTool(t.Context(), &pb.CallToolRequest{Name: name})
		if err == nil {
			_, err = stream.Recv()
		}
		if err == nil || (status.Code(err) == codes.InvalidArgument) != small || len(err.Error()) > 1000 {
			t.Errorf("%q: %.200v", name, err)
		}
		if n := len(stream.Trailer().Get("x-much")); n > 0 {
			t.Errorf("%q: the trailer was kept", name)
		}
	}
}

// A list that fails with a long text is remembered by the beginning of it.
func TestLongErrorsAreClipped(t *testing.T) {
	f := newFake("a")
	f.set(func() {
		f.tools = func(*pb.ListToolsRequest) (*pb.ListToolsResponse, error) {
			return nil, status.Error(codes.Internal, strings.Repeat("e", 50<<10))
		}
	})
	addr, _ := f.serve(t, "")
	p, b, _ := started(t, Config{Target: addr}, fast)
	ready(t, p)
	s := b.Status()
	for _, text := range append(s.Problems, s.LastError) {
		if len(text) > mcp.MaxText {
			t.Errorf("%d bytes are kept", len(text))
		}
	}
	if !strings.Contains(s.LastError, "eee") {
		t.Errorf("the error: %.100q", s.LastError)
	}
}

// counted is a backend without a connection, whose lists are counted.
type counted struct {
	pb.BackendServiceClient
	pb.ToolServiceClient
	lists atomic.Int32
}

func (c *counted) Describe(context.Context, *pb.DescribeRequest, ...grpc.CallOption) (*pb.DescribeResponse, error) {
	return &pb.DescribeResponse{Implementation: &pb.Implementation{Name: "counted", Version: "1"}, Tools: &pb.ToolFeatures{}}, nil
}

func (c *counted) ListTools(context.Context, *pb.ListToolsRequest, ...grpc.CallOption) (*pb.ListToolsResponse, error) {
	c.lists.Add(1)
	return &pb.ListToolsResponse{Tools: toolsNamed("a")}, nil
}

// A backend that reports changes continuously is listed at increasing intervals. One that reports
// few changes is listed at once.
func TestStormOfChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tune := fast
		tune.gap, tune.gapMax = 10*time.Millisecond, time.Hour
		cfg, options := Config{Name: "one", Target: "127.0.0.1:1", Refresh: 24 * time.Hour}, Options{Logger: slog.New(slog.DiscardHandler)}
		b, err := newBackend(cfg, options, &tune, func(*Backend, Kinds) {})
		if err != nil {
			t.Fatal(err)
		}
		defer b.close()
		c := &counted{}
		b.describer, b.tools = c, c
		b.signals.setLink(connectivity.Ready)
		b.group.run(func(ctx context.Context) { (&refresher{b: b}).run(ctx) })
		// change reports a change, and returns the number of times that it had the tools listed at once.
		change := func() int32 {
			before := c.lists.Load()
			b.signals.mark(Tools, true)
			synctest.Wait()
			return c.lists.Load() - before
		}
		synctest.Wait()
		for range 2 {
			time.Sleep(time.Hour)
			if n := change(); n != 1 {
				t.Errorf("after an hour without changes, the tools were listed %d times at once", n)
			}
			before := c.lists.Load()
			for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
				change()
			}
			// 10 ms, doubled each time, are over 2 s after eight times.
			if n := c.lists.Load() - before; n < 2 || n > 8 {
				t.Errorf("the tools were listed %d times within 2 s", n)
			}
		}
	})
}

// A backend reports changes of what is watched and of what is below it; other changes are ignored.
func TestUpdatesOfOthers(t *testing.T) {
	f := newFake("a")
	addr, _ := f.serve(t, "")
	p, b, _ := started(t, Config{Target: addr}, fast)
	ready(t, p)
	updates, _ := watching(t, b, mcp.Principal{Subject: "ann"}, "test:a")
	for _, other := range []string{"test:b", "test:ab", "file:///etc/passwd", "test:a/" + strings.Repeat("x", 5<<10)} {
		f.update("test:a", other, false)
	}
	for _, own := range []string{"test:a", "test:a/b", "test:a?q=1", "test:a#f"} {
		f.update("test:a", own, false)
		if got := <-updates; got != own {
			t.Errorf("update of %.40q, want %q", got, own)
		}
	}
}
