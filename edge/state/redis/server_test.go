package redis_test

import (
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/tests/redisserver"
)

// patience is how long a condition may take to come true.
const patience = 20 * time.Second

// startServer runs a redis-server of this test's own, without persistence, and returns its address.
func startServer(t testing.TB, args ...string) string {
	t.Helper()
	return redisserver.ForTest(t, args...).Addr
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
