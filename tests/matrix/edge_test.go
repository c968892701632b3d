package matrix

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/app"
	"github.com/mcpedge/mcpedge/edge/config"
	fixtures "github.com/mcpedge/mcpedge/services/everything/server"
	tools "github.com/mcpedge/mcpedge/services/tools/server"
	"github.com/mcpedge/mcpedge/tests/redisserver"
)

// backendAddr is a running backend.
type backendAddr struct{ name, addr string }

// startBackends serves the conformance fixtures, the bundled tools and the package's own fixture over
// gRPC until the test ends.
func startBackends(t *testing.T) (*fixture, []backendAddr) {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	f := newFixture(quiet)
	return f, []backendAddr{
		serve(t, "everything", fixtures.New(fixtures.Options{WatchInterval: 20 * time.Millisecond, Logger: quiet})),
		serve(t, "tools", tools.New(tools.Options{Logger: quiet})),
		serve(t, "fixture", f.Server),
	}
}

func serve(t *testing.T, name string, s *capability.Server) backendAddr {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("backend %s ended with: %v", name, err)
		}
	})
	return backendAddr{name, l.Addr().String()}
}

func settings(t *testing.T, backends []backendAddr) config.Config {
	t.Helper()
	cfg := config.Default()
	cfg.Listen, cfg.Admin = "127.0.0.1:0", "127.0.0.1:0"
	cfg.Grace = patience
	cfg.Limits.PageSize = 10         // so that lists have several pages
	cfg.Schemas = config.SchemasFull // what a backend says arrives as it is
	if *inRedis {
		cfg.Redis = redisserver.ForTest(t).URL()
	}
	for _, b := range backends {
		cfg.Backends = append(cfg.Backends, config.Backend{Name: b.name, Target: b.addr})
	}
	return cfg
}

// edge is a running edge.
type edge struct {
	t     *testing.T
	url   string
	stop  context.CancelFunc
	ended chan error
	once  sync.Once
}

// startEdge runs an edge over the backends; it returns once the edge serves. End it.
func startEdge(t *testing.T, backends []backendAddr) *edge {
	t.Helper()
	a, err := app.New(settings(t, backends), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	e := &edge{t: t, ended: make(chan error, 1)}
	ctx, stop := context.WithCancel(context.Background())
	e.stop = stop
	serving := make(chan string, 1)
	go func() { e.ended <- a.Run(ctx, func(url string) { serving <- url }) }()
	select {
	case e.url = <-serving:
	case err := <-e.ended:
		stop()
		t.Fatalf("the edge did not start: %v", err)
	case <-time.After(patience):
		stop()
		t.Fatal("the edge did not serve in time")
	}
	return e
}

// end drains the edge and waits for it.
func (e *edge) end() {
	e.once.Do(func() {
		e.stop()
		if err := <-e.ended; err != nil {
			e.t.Errorf("the edge ended with: %v", err)
		}
	})
}
