package redisserver

import (
	"errors"
	"os"
	"os/exec"
	"testing"
)

const (
	// EnvProgram is the path of the server to run. Unset means redis-server or valkey-server in
	// PATH.
	EnvProgram = "MCPEDGE_REDIS_SERVER"
	// EnvLeaveOut, if set, skips tests that need a server if there is none, instead of failing
	// them. `make test` sets it if no server is found and none can be installed, and counts the
	// tests.
	EnvLeaveOut = "MCPEDGE_LEAVE_OUT_REDIS"
)

// ErrMissing means that the machine has no redis-server.
var ErrMissing = errors.New("redis-server is missing: install it or valkey-server, on Debian with apt-get install redis-server")

// Program returns the server: EnvProgram, redis-server, or valkey-server, which has the same
// arguments and commands. The error is ErrMissing.
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

// Require returns the server for a test. Without one the test fails, or is skipped if EnvLeaveOut is
// set.
func Require(t testing.TB) string {
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
