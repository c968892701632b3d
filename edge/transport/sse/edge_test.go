package sse_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/app"
	"github.com/mcpedge/mcpedge/edge/config"
)

// fixture is a backend whose calls wait for the test.
type fixture struct {
	*capability.Server
	open    chan struct{} // lets one call of gate go on
	started chan struct{}
	ended   chan error
}

func newFixture() *fixture {
	f := &fixture{
		Server: capability.New("fixture", "1.0.0", capability.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))),
		open:   make(chan struct{}), started: make(chan struct{}, 16), ended: make(chan error, 16),
	}
	capability.AddTool(f.Server, "add", "Adds",
		func(_ context.Context, _ *capability.Call, in struct{ A, B int }) (int, error) {
			return in.A + in.B, nil
		})
	capability.AddTool(f.Server, "gate", "Waits, with progress",
		func(ctx context.Context, c *capability.Call, _ struct{}) (string, error) {
			c.Progress(1, 2, "waiting")
			f.started <- struct{}{}
			select {
			case <-f.open:
				f.ended <- nil
				return "passed", nil
			case <-ctx.Done():
				f.ended <- ctx.Err()
				return "", ctx.Err()
			}
		})
	capability.AddTool(f.Server, "ask_name", "Asks the user",
		func(_ context.Context, c *capability.Call, _ struct{}) (string, error) {
			p, err := capability.Ask[struct {
				Name string `json:"name"`
			}](c, "name", "What is your name?")
			return "Hello, " + p.Name, err
		})
	capability.AddTool(f.Server, "ask_roots", "Asks for the roots",
		func(_ context.Context, c *capability.Call, _ struct{}) (string, error) {
			return "root " + c.Roots("roots")[0].GetUri(), nil
		})
	capability.AddResource(f.Server, &capability.Resource{Uri: "test://note", Name: "note", MimeType: "text/plain"},
		func(context.Context, *capability.Call, string) (string, error) { return "a note", nil })
	return f
}

// edge is a running edge.
type edge struct {
	base string
	stop context.CancelFunc
	err  chan error
}

// startEdge runs an edge in front of a fixture until the test ends.
func startEdge(t *testing.T, adjust ...func(*config.Config)) (*fixture, *edge) {
	t.Helper()
	f := newFixture()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	sctx, stopService := context.WithCancel(context.Background())
	go func() { served <- f.Serve(sctx, l) }()
	t.Cleanup(func() {
		stopService()
		if err := <-served; err != nil {
			t.Errorf("the backend: %v", err)
		}
	})
	cfg := config.Default()
	cfg.Listen, cfg.Admin, cfg.Grace = "127.0.0.1:0", "127.0.0.1:0", patience
	cfg.Limits.StreamAfter = 50 * time.Millisecond
	cfg.Backends = []config.Backend{{Name: "fixture", Target: l.Addr().String()}}
	for _, fn := range adjust {
		fn(&cfg)
	}
	a, err := app.New(cfg, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	e := &edge{stop: stop, err: make(chan error, 1)}
	urls := make(chan string, 1)
	go func() { e.err <- a.Run(ctx, func(u string) { urls <- u }) }()
	t.Cleanup(sync.OnceFunc(func() { e.awaitEnd(t) }))
	select {
	case u := <-urls:
		e.base = strings.TrimSuffix(u, "/mcp")
	case err := <-e.err:
		e.err <- err
		t.Fatalf("the edge did not start: %v", err)
	case <-time.After(patience):
		t.Fatal("the edge did not start in time")
	}
	return f, e
}

// awaitEnd stops the edge and waits for its end.
func (e *edge) awaitEnd(t *testing.T) {
	t.Helper()
	e.stop()
	select {
	case err := <-e.err:
		e.err <- err
		if err != nil {
			t.Errorf("the edge ended with: %v", err)
		}
	case <-time.After(2 * patience):
		t.Error("the edge does not end")
	}
}
