// Package capability holds a capability library of any language against what all of them promise: its fixture, described
// in README.md, stands behind an edge, and is called directly by the contract.
package capability

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/process"
)

var command = flag.String("fixture", "", "`command` that serves the fixture, to which --listen ADDR is added; empty: the one in Go, which is built")

// shared is the fixture that most tests use.
var shared *program

func init() {
	// The fixture is bound to the thread that starts it (see process.Bind): keep it alive.
	runtime.LockOSThread()
}

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "tests/suites/capability:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// run runs the tests with a fixture. The error is about the fixture: it did not serve, or did not end well.
func run(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "mcpedge-capability-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	if *command == "" {
		if err := process.Build(context.Background(), dir, "./fixture"); err != nil {
			return 0, err
		}
		*command = filepath.Join(dir, "fixture")
	}
	addrs, err := process.FreeAddrs(1)
	if err != nil {
		return 0, err
	}
	if shared, err = startProgram(addrs[0], filepath.Join(dir, "fixture.log")); err != nil {
		return 0, err
	}
	if code = m.Run(); code != 0 {
		fmt.Fprintf(os.Stderr, "the fixture's log ends with:\n%s\n", shared.Tail())
	}
	return code, shared.Stop()
}

// program is a fixture that serves.
type program struct {
	*process.Process
	addr string
}

// startProgram returns once the fixture's port accepts.
func startProgram(addr, log string) (*program, error) {
	words := strings.Fields(*command)
	p, err := process.Start("the fixture", words[0], log, append(words[1:], "--listen", addr)...)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(2 * process.ReadyWithin); ; time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial("tcp", addr); err == nil {
			return &program{p, addr}, conn.Close()
		}
		select {
		case <-p.Done():
			return nil, fmt.Errorf("the fixture ended before it served:\n%s", p.Tail())
		default:
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("the fixture did not serve within %v:\n%s", 2*process.ReadyWithin, p.Tail())
		}
	}
}

// startEdge runs an edge over the shared fixture until the test ends.
func startEdge(t *testing.T, adjust ...func(*config.Config)) *harness.Edge {
	t.Helper()
	cfg := harness.Config(config.Backend{Name: "capability", Target: shared.addr})
	for _, f := range adjust {
		f(&cfg)
	}
	return harness.Start(t, cfg)
}

// dial is a connection to the shared fixture that takes messages as large as edges do.
func dial(t *testing.T) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(shared.addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(16<<20)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// limit bounds the calls of a test.
func limit(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*await.Patience)
	t.Cleanup(cancel)
	return ctx
}
