package redisserver

import (
	"errors"
	"os"
	"os/exec"
	"testing"
)

const (
	// EnvProgram names the server to run, a path; unset: redis-server or else valkey-server, in PATH.
	EnvProgram = "MCPEDGE_REDIS_SERVER"
	// EnvLeaveOut, set to anything, has tests that need a server skipped where there is none, rather than
	// fail. `make test` sets it once it has found none and could not install one, and counts them.
	EnvLeaveOut = "MCPEDGE_LEAVE_OUT_REDIS"
)

// ErrMissing says that the machine has no redis-server.
var ErrMissing = errors.New("redis-server is missing: install it or valkey-server, on Debian with apt-get install redis-server")

// Program finds the server: EnvProgram, redis-server, or valkey-server, which takes the same arguments and
// commands. The error is ErrMissing.
func Program() (string, error) {
	for _, name := range []string{os.Getenv(EnvProgram), "redis-server", "valkey-server"} {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrMissing
}

// Need returns the server for a test, which fails where there is none, or is left out where EnvLeaveOut
// says so.
func Need(t testing.TB) string {
	t.Helper()
	path, err := Program()
	switch {
	case err == nil:
	case os.Getenv(EnvLeaveOut) != "":
		t.Skip("left out:", err)
	default:
		t.Fatal(err)
	}
	return path
}
