package redis_test

import (
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// patience is how long a condition may take to come true.
const patience = await.Patience

// startServer runs a redis-server of this test's own, without persistence, and returns its address.
func startServer(t testing.TB, args ...string) string {
	t.Helper()
	return redisserver.ForTest(t, args...).Addr
}
