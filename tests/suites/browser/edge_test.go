package browser

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// edge is a running one.
type edge struct {
	endpoint, page string
	// kill ends it as a machine that is lost.
	kill func()
}

// startEdge starts the demo, or an edge of the backends that flags name, on ports of its own, and ends it with the test.
func startEdge(t *testing.T, flags ...string) edge {
	t.Helper()
	binary := os.Getenv("MCPEDGE_BINARY")
	if binary == "" {
		t.Fatal("MCPEDGE_BINARY names no binary: run make stages ONLY=browser")
	}
	cmd := exec.Command(binary, append([]string{"--listen=127.0.0.1:0", "--admin=127.0.0.1:0", "--log-format=json"}, flags...)...)
	cmd.Env = append(withoutOTel(os.Environ()), "MCPEDGE_SHUTDOWN_GRACE=2s", "MCPEDGE_REDIS_LEASE=1s")
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 1024)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(log); s.Scan(); {
			select {
			case lines <- s.Text():
			default: // nobody reads any more
			}
		}
	}()
	lost := false
	t.Cleanup(func() {
		if lost {
			return
		}
		_ = cmd.Process.Signal(os.Interrupt)
		late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		defer late.Stop()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the edge did not end well: %v", err)
		}
	})
	e := serving(t, lines)
	e.kill = func() {
		lost = true
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	return e
}

// serving waits for the line that says where the edge is.
func serving(t *testing.T, lines <-chan string) edge {
	t.Helper()
	timeout := time.After(patience)
	var seen bytes.Buffer
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				t.Fatalf("the edge ended before it served:\n%s", &seen)
			}
			seen.WriteString(line + "\n")
			var entry struct{ Msg, Endpoint, Admin string }
			if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "serving" {
				return edge{endpoint: entry.Endpoint, page: "http://" + entry.Admin + "/dev"}
			}
		case <-timeout:
			t.Fatalf("the edge does not serve after %v:\n%s", patience, &seen)
		}
	}
}

// withoutOTel keeps the edge from exporting what the test makes it do.
func withoutOTel(env []string) (out []string) {
	for _, kv := range env {
		if !strings.HasPrefix(kv, "OTEL_") && !strings.HasPrefix(kv, "MCPEDGE_") {
			out = append(out, kv)
		}
	}
	return out
}
