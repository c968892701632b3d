package e2e

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/freeport"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// mute is a backend whose first listing hangs until it is let go.
type mute struct {
	pb.UnimplementedToolServiceServer
	once  sync.Once
	asked chan struct{} // closed when it is asked
	goOn  chan struct{}
}

func (s *mute) ListTools(ctx context.Context, _ *pb.ListToolsRequest) (*pb.ListToolsResponse, error) {
	s.once.Do(func() { close(s.asked) })
	select {
	case <-s.goOn:
		return &pb.ListToolsResponse{Tools: []*pb.Tool{{Name: "late"}}}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func startSilent(t *testing.T) (*mute, string) {
	s := &mute{asked: make(chan struct{}), goOn: make(chan struct{})}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	pb.RegisterToolServiceServer(server, s)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	return s, l.Addr().String()
}

// TestHangingBackend: a backend whose first listing hangs holds nobody up for longer than start-wait, and
// joins as a change when it answers at last.
func TestHangingBackend(t *testing.T) {
	quick := startService(t, speaker("quick", "calm"))
	slow, addr := startSilent(t)
	e := startEdge(t, []config.Backend{{Name: "slow", Target: addr}, {Name: "quick", Target: quick.Addr}},
		func(c *config.Config) { c.Advanced.StartWait = 300 * time.Millisecond })
	<-slow.asked
	s := newSession(t, e.URL, vNov)
	// The quick one joins later too, where the machine is too busy to list it within start-wait.
	lists := func(when string, want ...string) {
		t.Helper()
		await.Until(t, fmt.Sprint(want, " to be listed ", when), func() bool {
			return slices.Equal(names(s.request("tools/list", "").result()["tools"], "name"), want)
		})
	}
	lists("while one backend hangs", "calm")
	if text := e.Log.String(); !strings.Contains(text, "backends=slow") && !strings.Contains(text, `backends="slow, quick"`) {
		t.Error("the log does not name the backend that hangs")
	}
	stream := s.get("").events()
	close(slow.goOn)
	stream.awaitMethod("notifications/tools/list_changed")
	lists("afterwards", "late", "calm")
}

// TestStoppedBeforeItServed: an edge that is told to end while its Redis was never reached, or its backend
// never answered, ends in order: that is no failure of its own.
func TestStoppedBeforeItServed(t *testing.T) {
	slow, addr := startSilent(t)
	for name, adjust := range map[string]func(*config.Config){
		"no redis": func(c *config.Config) {
			l, err := freeport.Listen()
			if err != nil {
				t.Fatal(err)
			}
			c.Redis.URL = "redis://" + l.Addr().String()
			_ = l.Close()
		},
		"no answer": func(c *config.Config) { c.Advanced.StartWait = patience },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := harness.Config(config.Backend{Name: "slow", Target: addr})
			adjust(&cfg)
			e := harness.Begin(t, cfg)
			<-slow.asked
			e.End(t)
			if e.HasServed() {
				t.Error("it serves")
			}
			if text := e.Log.String(); strings.Contains(text, "leases") || strings.Contains(text, "level=ERROR") {
				t.Errorf("the log:\n%s", text)
			}
		})
	}
}
