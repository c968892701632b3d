package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/tests/helpers/authority"
)

// fixture is a backend.
type fixture struct {
	addr string
	// open lets the tools safe and unsafe end.
	open chan struct{}
}

type nameForm struct {
	Name string `json:"name"`
}

// startFixture serves a fixture until the test ends.
func startFixture(t *testing.T) *fixture {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{addr: l.Addr().String(), open: make(chan struct{})}
	s := capability.New("fixture", "1.0.0", capability.WithLogger(slog.New(slog.DiscardHandler)))
	f.tools(s)
	capability.AddPrompt(s, &capability.Prompt{Name: "greet"},
		func(context.Context, *capability.Call, map[string]string) (string, error) { return "Hello", nil })
	serve(t, s, l)
	return f
}

// startHollow serves a backend that is reached, over TLS, and has nothing to serve, until the test ends.
func startHollow(t *testing.T, ca *authority.CA) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	creds := grpc.Creds(credentials.NewServerTLSFromCert(new(ca.Server(t).TLS(t))))
	serve(t, capability.New("hollow", "1.0.0", capability.WithServerOptions(creds), capability.WithLogger(slog.New(slog.DiscardHandler))), l)
	return l.Addr().String()
}

// tardiness is how long the tool dawdle takes at least. It takes slower times as long as the longest of all other calls, which is more
// than the ratio of the bounds of any bucket of a histogram.
const (
	tardiness = 1200 * time.Millisecond
	slower    = 4
)

// lasting is how long the tool dawdle takes.
type lasting struct {
	Milliseconds int64 `json:"milliseconds"`
}

// startTardy serves a backend that is slow until the test ends.
func startTardy(t *testing.T) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := capability.New("tardy", "1.0.0", capability.WithLogger(slog.New(slog.DiscardHandler)))
	capability.AddTool(s, "dawdle", "Is slow",
		func(ctx context.Context, _ *capability.Call, in lasting) (string, error) {
			select {
			case <-time.After(time.Duration(in.Milliseconds) * time.Millisecond):
				return "done", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		})
	serve(t, s, l)
	return l.Addr().String()
}

func serve(t *testing.T, s *capability.Server, l net.Listener) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func (f *fixture) tools(s *capability.Server) {
	wait := func(ctx context.Context, c *capability.Call, _ nothing) (string, error) {
		c.Progress(1, 2, "waiting")
		select {
		case <-f.open:
			return "done", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	capability.AddTool(s, "safe", "Waits, and may be run twice", wait, capability.Idempotent())
	capability.AddTool(s, "unsafe", "Waits, and may not be run twice", wait)
	capability.AddTool(s, "count", "Counts, with progress",
		func(_ context.Context, c *capability.Call, _ nothing) (string, error) {
			c.Progress(1, 1, "one")
			return "one", nil
		})
	capability.AddTool(s, "ask", "Asks for a name",
		func(_ context.Context, c *capability.Call, _ nothing) (string, error) {
			in, err := capability.Ask[nameForm](c, "name", "Your name?")
			return "Hello, " + in.Name, err
		})
	capability.AddTool(s, "later", "Is a task at once",
		func(context.Context, *capability.Call, nothing) (string, error) { return "done", nil },
		capability.Tasks(capability.TaskOptional), capability.TasksStart(capability.TaskAtOnce))
	capability.AddTool(s, "refuse", "Fails, and says so",
		func(context.Context, *capability.Call, nothing) (string, error) { return "", errors.New("no") })
	capability.AddTool(s, "seldom", "May be called once",
		func(context.Context, *capability.Call, nothing) (string, error) { return "done", nil })
	capability.AddTool(s, "forbidden", "May not be called by who has no claims",
		func(context.Context, *capability.Call, nothing) (string, error) { return "done", nil })
	capability.AddTool(s, "approved", "Waits for the approval of another person",
		func(context.Context, *capability.Call, nothing) (string, error) { return "done", nil })
	capability.AddTool(s, "break", "Fails as a server",
		func(context.Context, *capability.Call, nothing) (string, error) {
			return "", status.Error(codes.Internal, "broken")
		})
}
