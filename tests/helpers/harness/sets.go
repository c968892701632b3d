package harness

import (
	"flag"
	"testing"
)

// redis is a flag of suites that use this package, as in: go test ./tests/suites/e2e -args -redis
var redis = flag.Bool("redis", false, "keep the state of edges in Redis, and run replicas that share it behind one address where a suite does so")

// InRedis reports whether -redis is set: edges that a suite starts then keep their state in Redis.
// It is false until the flags are parsed.
func InRedis() bool { return *redis }

// OneProcess skips a test with -redis because it concerns one process: its connections, limits or
// drain. It must be called first in the test.
func OneProcess(t testing.TB) {
	t.Helper()
	if InRedis() {
		t.Skip("the test concerns one process; it runs without -redis")
	}
}
