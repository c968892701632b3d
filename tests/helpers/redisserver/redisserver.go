// Package redisserver runs redis-server or Valkey processes for tests and benchmarks, each on a
// free loopback port. The program comes from the system's package. If it is missing, tests fail
// unless EnvLeaveOut is set.
package redisserver

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/freeport"
)

// patience is the timeout for an answer of a server.
const patience = await.Patience

// Server is a running redis-server. It is not safe for concurrent use.
type Server struct {
	// Addr is host:port.
	Addr string
	// Dir has its files until Close.
	Dir  string
	args []string
	port int
	cmd  *exec.Cmd
	out  *bytes.Buffer
}

// URL returns the value for --redis.
func (s *Server) URL() string { return "redis://" + s.Addr }

// Start runs a server without persistence, unless the arguments, which come last, enable it. It
// returns when the server answers. The caller calls Close.
func Start(args ...string) (*Server, error) {
	l, err := freeport.Listen()
	if err != nil {
		return nil, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	dir, err := os.MkdirTemp("", "redis-server-")
	if err != nil {
		return nil, err
	}
	s := &Server{Addr: l.Addr().String(), Dir: dir, args: args, port: port}
	if err := s.Restart(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// ForTest is Start for a test; the server ends with it. See Need for a missing server.
func ForTest(t testing.TB, args ...string) *Server {
	t.Helper()
	Require(t)
	s, err := Start(args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Restart runs the server again on its address and files, after Kill. It returns when the data is
// loaded.
func (s *Server) Restart() error {
	path, err := Program()
	if err != nil {
		return err
	}
	s.out = new(bytes.Buffer)
	s.cmd = exec.Command(path, append([]string{
		"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--save", "", "--dir", s.Dir, "--daemonize", "no",
		"--repl-diskless-sync-delay", "0", // The default is to wait five seconds for more replicas.
	}, s.args...)...)
	s.cmd.Stdout, s.cmd.Stderr = s.out, s.out
	if err := s.cmd.Start(); err != nil {
		return err
	}
	return s.await()
}

// await returns when this process answers, because another process could have taken the port.
func (s *Server) await() error {
	c := redis.NewClient(&redis.Options{Addr: s.Addr, MaxRetries: -1})
	defer func() { _ = c.Close() }()
	mine := fmt.Sprintf("\r\nprocess_id:%d\r\n", s.cmd.Process.Pid)
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		info, err := c.Info(context.Background(), "server", "persistence").Result()
		if err == nil && strings.Contains(info, mine) && strings.Contains(info, "\r\nloading:0\r\n") {
			return nil
		}
		if time.Now().After(end) {
			s.Kill()
			return fmt.Errorf("redis-server does not answer at %s within %s (%v); it says:\n%s", s.Addr, patience, err, s.out)
		}
	}
}

// Kill kills the process. Its files stay.
func (s *Server) Kill() {
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

// Close stops the server and removes its files. It may be called repeatedly.
func (s *Server) Close() {
	s.Kill()
	_ = os.RemoveAll(s.Dir)
}
