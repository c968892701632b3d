package e2e

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/app"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/freeport"
)

// patience bounds every wait for a condition. It is no pace: what is awaited comes much sooner.
const patience = 20 * time.Second

// edge is a running edge.
type edge struct {
	url  string
	host string // host:port of url
	// admin is host:port of the admin address.
	admin string
	log   *logs
	stop  context.CancelFunc
	// ended is closed when Run has returned err.
	ended chan struct{}
	err   error
}

// startEdge runs an edge over the backends, by name and address in turn, until the test ends. It
// returns once the edge serves.
func startEdge(t *testing.T, backends []config.Backend, adjust ...func(*config.Config)) *edge {
	t.Helper()
	cfg := config.Default()
	cfg.Listen, cfg.Admin = "127.0.0.1:0", "127.0.0.1:0"
	cfg.Backends = backends
	cfg.Grace = patience
	for _, f := range adjust {
		f(&cfg)
	}
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	e := &edge{log: &logs{}, ended: make(chan struct{})}
	a, err := app.New(cfg, slog.New(slog.NewTextHandler(e.log, &slog.HandlerOptions{Level: slog.LevelInfo})))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	e.stop = stop
	endpoint := make(chan string, 1)
	go func() {
		defer close(e.ended)
		e.err = a.Run(ctx, func(url string) { endpoint <- url })
	}()
	t.Cleanup(func() {
		stop()
		e.awaitEnd(t)
		if t.Failed() {
			t.Logf("the edge's log:\n%s", e.log)
		}
	})
	select {
	case e.url = <-endpoint:
	case <-e.ended:
		t.Fatalf("the edge did not start: %v", e.err)
	case <-time.After(patience):
		t.Fatal("the edge did not serve in time")
	}
	e.admin = a.AdminAddr()
	e.host = strings.TrimSuffix(strings.TrimPrefix(e.url, "http://"), "/mcp")
	return e
}

// awaitEnd waits until the edge has drained.
func (e *edge) awaitEnd(t *testing.T) {
	t.Helper()
	select {
	case <-e.ended:
		if e.err != nil {
			t.Errorf("the edge ended with: %v", e.err)
		}
	case <-time.After(2 * patience):
		t.Error("the edge did not end in time")
	}
}

// logs collects what an edge logs.
type logs struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// service is a running backend.
type service struct {
	addr string
	stop func()
}

// startService serves s on a free port, or on the address given, until stop or the end of the test.
func startService(t *testing.T, s *capability.Server, address ...string) *service {
	t.Helper()
	listen := freeport.Listen
	if len(address) > 0 {
		listen = func() (net.Listener, error) { return net.Listen("tcp", address[0]) }
	}
	l, err := listen()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the backend ended with: %v", err)
		}
	})
	t.Cleanup(stop)
	return &service{addr: l.Addr().String(), stop: stop}
}

// only is the configuration of one backend.
func only(s *service) []config.Backend {
	return []config.Backend{{Name: "fixture", Target: s.addr}}
}

// eventually waits until the condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if condition() {
			return
		}
	}
	t.Fatalf("in vain: %s", what)
}
