package sse_test

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
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

// startEdge runs an edge in front of a fixture until the test ends.
func startEdge(t *testing.T, adjust ...func(*config.Config)) (*fixture, *harness.Edge) {
	t.Helper()
	f := newFixture()
	cfg := harness.Config(harness.Serve(t, "fixture", f.Server).Backend())
	cfg.Calls.StreamAfter = 50 * time.Millisecond
	for _, fn := range adjust {
		fn(&cfg)
	}
	return f, harness.Start(t, cfg)
}

// base is the URL of an edge without a path.
func base(e *harness.Edge) string { return "http://" + e.Host }
