package redis_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/tests/helpers/freeport"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// startNodes runs a Redis Cluster of three masters that have the slots in their order.
func startNodes(t *testing.T, args ...string) (servers []*redisserver.Server, addrs []string) {
	t.Helper()
	for range 3 {
		s := startNode(t, args...)
		servers, addrs = append(servers, s), append(addrs, s.Addr)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	must(t, redisserver.Join(ctx, addrs...))
	return servers, addrs
}

// startNode runs one node. The port of its bus was free a moment ago; where another program of the machine has taken
// it since, another one is tried.
func startNode(t *testing.T, args ...string) *redisserver.Server {
	t.Helper()
	redisserver.Require(t)
	for attempt := 1; ; attempt++ {
		s, err := redisserver.Start(append(args, "--cluster-enabled", "yes", "--cluster-node-timeout", "5000",
			"--cluster-port", fmt.Sprint(freePort(t)))...)
		if err == nil {
			t.Cleanup(s.Close)
			return s
		}
		if attempt == 3 || !strings.Contains(err.Error(), "Address already in use") {
			t.Fatal(err)
		}
		t.Logf("a port was taken: %v", err)
	}
}

// startCluster runs a Redis Cluster and returns a client of it.
func startCluster(t *testing.T) *goredis.ClusterClient {
	t.Helper()
	_, addrs := startNodes(t)
	c := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: addrs, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := freeport.Listen()
	must(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
