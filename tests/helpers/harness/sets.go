package harness

import (
	"flag"
	"testing"
)

// redis is the flag of the suites that start edges by this package, as in: go test ./tests/suites/e2e -args -redis
var redis = flag.Bool("redis", false, "keep the state of edges in Redis, and run replicas that share it behind one address where a suite does so")

// InRedis reports whether the run is the one with -redis: the edges that a suite starts for any test then keep their state in Redis.
// It is false until the flags are parsed.
func InRedis() bool { return *redis }

// OneProcess leaves a test out of a run with -redis, since it is about one process: its connections, its bounds, its drain. It is called
// first in the test.
func OneProcess(t testing.TB) {
	t.Helper()
	if InRedis() {
		t.Skip("it is about one process, and runs without -redis")
	}
}
