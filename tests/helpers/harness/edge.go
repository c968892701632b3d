package harness

import (
	"context"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/app"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// settingsInterval is the interval at which edges read their settings file, which tests replace with Write.
const settingsInterval = 100 * time.Millisecond

// Config returns the default configuration on free loopback ports, with the given backends. The
// timeouts for draining and for the backends' lists are await.Patience.
func Config(backends ...config.Backend) config.Config {
	cfg := config.Default()
	cfg.Listen.Address, cfg.Admin.Address, cfg.Shutdown.Grace = "127.0.0.1:0", "127.0.0.1:0", await.Patience
	cfg.Advanced.StartWait = await.Patience
	cfg.Advanced.TaskPolls = 100_000 // Tests poll tasks without pauses.
	cfg.Backends = backends
	return cfg
}

// Edge is an edge with HTTP in the test's process.
type Edge struct {
	// URL is that of the MCP endpoint, Host its host:port, and Admin host:port of the admin
	// address. They are set once the edge serves.
	URL, Host, Admin string
	// Log has the log of the edge, from level info.
	Log *Log

	app    *app.App
	stop   context.CancelFunc
	served chan string
	ended  chan struct{}
	err    error // set when ended is closed
	// serves is true once the edge serves. errTaken is true once the test has taken the error.
	serves   atomic.Bool
	errTaken atomic.Bool
}

// Start runs an edge until the test ends, and returns when it serves. The test fails if the edge
// does not serve, or ends with an error that Wait has not returned; then it shows the log.
func Start(t testing.TB, cfg config.Config, options ...app.Option) *Edge {
	t.Helper()
	e := Begin(t, cfg, options...)
	e.AwaitServing(t)
	return e
}

// Begin is Start for an edge that may not serve. It does not wait.
func Begin(t testing.TB, cfg config.Config, options ...app.Option) *Edge {
	t.Helper()
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	e := &Edge{Log: &Log{}, served: make(chan string, 1), ended: make(chan struct{})}
	options = append([]app.Option{app.WithSettingsInterval(settingsInterval)}, options...)
	var err error
	if e.app, err = app.New(cfg, slog.New(slog.NewTextHandler(e.Log, nil)), options...); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	e.stop = stop
	go func() {
		defer close(e.ended)
		e.err = e.app.Run(ctx, func(url string) {
			e.serves.Store(true)
			e.served <- url
		})
	}()
	t.Cleanup(func() {
		e.End(t)
		if t.Failed() {
			t.Logf("the edge's log:\n%s", e.Log)
		}
	})
	return e
}

// AwaitServing returns when the edge serves, and otherwise fails the test.
func (e *Edge) AwaitServing(t testing.TB) {
	t.Helper()
	select {
	case e.URL = <-e.served:
	case <-e.ended:
		e.errTaken.Store(true)
		t.Fatalf("the edge ended before it served: %v", e.err)
	case <-time.After(await.Patience):
		t.Fatalf("the edge did not serve within %v", await.Patience)
	}
	e.Admin = e.app.AdminAddr()
	_, host, _ := strings.Cut(e.URL, "://")
	e.Host = strings.TrimSuffix(host, "/mcp")
}

// AwaitAdmin returns when the admin address accepts connections, which is before the edge serves.
func (e *Edge) AwaitAdmin(t testing.TB) {
	t.Helper()
	await.Until(t, "the admin address", func() bool { return e.app.AdminAddr() != "" })
	e.Admin = e.app.AdminAddr()
}

// HasServed reports whether the edge has served, even if it has ended since.
func (e *Edge) HasServed() bool { return e.serves.Load() }

// Stop starts the shutdown of the edge, as a signal does, and does not wait.
func (e *Edge) Stop() { e.stop() }

// Ended is closed when the edge has ended.
func (e *Edge) Ended() <-chan struct{} { return e.ended }

// Wait waits for the end of an edge that ends by itself or was stopped, and returns its error.
func (e *Edge) Wait(t testing.TB) error {
	t.Helper()
	select {
	case <-e.ended:
		e.errTaken.Store(true)
		return e.err
	case <-time.After(2 * await.Patience):
		t.Fatalf("the edge did not end within %v", 2*await.Patience)
		return nil
	}
}

// AwaitEnd waits for the end of an edge that ends by itself or was stopped. The test fails if it
// ended with an error.
func (e *Edge) AwaitEnd(t testing.TB) {
	t.Helper()
	taken := e.errTaken.Load()
	if err := e.Wait(t); err != nil && !taken {
		t.Errorf("the edge ended with: %v", err)
	}
}

// End is Stop and AwaitEnd. It may be called repeatedly.
func (e *Edge) End(t testing.TB) {
	t.Helper()
	e.stop()
	e.AwaitEnd(t)
}

// Write replaces a file of settings atomically: an edge that reads it at the same time gets the old text or the new one.
func Write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(name+"~", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name+"~", name); err != nil {
		t.Fatal(err)
	}
}

// Stdio is an edge that serves one client over pipes in the test's process.
type Stdio struct {
	// In receives the client's input; closing it ends the edge. Out is the edge's output, which the
	// test must read.
	In  io.WriteCloser
	Out io.Reader

	stop  context.CancelFunc
	ended chan struct{}
	err   error
}

// StartStdio runs an edge on stdio. The caller waits for its end with Wait.
func StartStdio(t testing.TB, cfg config.Config) *Stdio {
	t.Helper()
	a, err := app.New(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	in, toEdge := io.Pipe()
	fromEdge, out := io.Pipe()
	ctx, stop := context.WithCancel(context.Background())
	e := &Stdio{In: toEdge, Out: fromEdge, stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(e.ended)
		e.err = a.Stdio(ctx, in, out)
	}()
	return e
}

// Stop shuts the edge down as a signal does, and does not wait.
func (e *Stdio) Stop() { e.stop() }

// Ended is closed when the edge has ended.
func (e *Stdio) Ended() <-chan struct{} { return e.ended }

// Err returns the error with which the edge ended. Ended must be closed.
func (e *Stdio) Err() error { return e.err }

// Log collects log output. The zero value is ready. It is safe for concurrent use.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns the output so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
