// Package redisserver runs redis-server processes, or Valkey's, for tests and benchmarks, each on a free port
// of loopback. The program comes from the system's package; where it is missing, that is an error which says
// so. A test is skipped only where EnvLeaveOut asks for that.
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

	"github.com/mcpedge/mcpedge/tests/helpers/freeport"
)

// patience is how long a server may take to answer.
const patience = 20 * time.Second

// Server is a running redis-server. Its methods are for one goroutine at a time.
type Server struct {
	// Addr is host:port.
	Addr string
	// Dir holds its files until Close.
	Dir  string
	args []string
	port int
	cmd  *exec.Cmd
	out  *bytes.Buffer
}

// URL is what --redis takes.
func (s *Server) URL() string { return "redis://" + s.Addr }

// Start runs a server that keeps nothing on disk unless the arguments, which come last, say so. It
// returns once the server answers. Close it.
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

// ForTest is Start for a test, which ends with it; see Need for where there is none.
func ForTest(t testing.TB, args ...string) *Server {
	t.Helper()
	Need(t)
	s, err := Start(args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Restart runs the server on its address and files again, after Kill; it returns once that has loaded
// its data.
func (s *Server) Restart() error {
	path, err := Program()
	if err != nil {
		return err
	}
	s.out = new(bytes.Buffer)
	s.cmd = exec.Command(path, append([]string{
		"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--save", "", "--dir", s.Dir, "--daemonize", "no",
		"--repl-diskless-sync-delay", "0", // It waits five seconds for more replicas.
	}, s.args...)...)
	s.cmd.Stdout, s.cmd.Stderr = s.out, s.out
	if err := s.cmd.Start(); err != nil {
		return err
	}
	return s.await()
}

// await returns once this very process answers: another could have taken the port.
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

// Kill ends the process at once. Its files stay.
func (s *Server) Kill() {
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

// Close ends the server and removes its files. It may be called more than once.
func (s *Server) Close() {
	s.Kill()
	_ = os.RemoveAll(s.Dir)
}
