package redis_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// patience is how long a condition may take to come true.
const patience = 20 * time.Second

// startServer runs a redis-server of this test's own, without persistence, and returns its address.
func startServer(t testing.TB, args ...string) string {
	t.Helper()
	addr, _ := startProcess(t, freePort(t), args...)
	return addr
}

// startProcess runs a redis-server on a port and waits until it answers. stop ends it.
func startProcess(t testing.TB, port int, args ...string) (addr string, stop func()) {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal("redis-server is missing: install it, on Debian with apt-get install redis-server")
	}
	dir, err := os.MkdirTemp("", "redis")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := exec.Command(path, append([]string{
		"--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", dir,
		"--cluster-config-file", filepath.Join(dir, "nodes.conf"), "--daemonize", "no",
	}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = os.RemoveAll(dir)
	}
	t.Cleanup(stop)
	addr = fmt.Sprintf("127.0.0.1:%d", port)
	c := goredis.NewClient(&goredis.Options{Addr: addr, MaxRetries: -1})
	defer c.Close()
	// Not another server that took the port in the meantime.
	mine := fmt.Sprintf("\r\nprocess_id:%d\r\n", cmd.Process.Pid)
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		info, err := c.Info(context.Background(), "server").Result()
		if err == nil && strings.Contains(info, mine) {
			break
		}
		if time.Now().After(end) {
			stop()
			t.Fatalf("redis-server does not answer on port %d within %v (%v); it says:\n%s", port, patience, err, out.String())
		}
	}
	return addr, stop
}

// await polls until a condition is true.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
