package redis_test

import (
	"context"
	"fmt"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/statetest"
)

const slots = 16384

// startCluster runs a Redis Cluster of three masters and returns a client of it.
func startCluster(t *testing.T) *goredis.ClusterClient {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var addrs []string
	var nodes []*goredis.Client
	for range 3 {
		port := freePort(t)
		addr, _ := startProcess(t, port, "--cluster-enabled", "yes", "--cluster-node-timeout", "5000", "--cluster-port", fmt.Sprint(freePort(t)))
		addrs, nodes = append(addrs, addr), append(nodes, connect(t, addr))
	}
	bus := func(c *goredis.Client) string { return c.ConfigGet(ctx, "cluster-port").Val()["cluster-port"] }
	for i, c := range nodes {
		must(t, c.ClusterAddSlotsRange(ctx, i*slots/3, (i+1)*slots/3-1).Err())
		must(t, c.Do(ctx, "cluster", "set-config-epoch", i+1).Err())
	}
	for _, c := range nodes[1:] {
		host, port := "127.0.0.1", addrs[0][len("127.0.0.1:"):]
		must(t, c.Do(ctx, "cluster", "meet", host, port, bus(nodes[0])).Err())
	}
	for i, c := range nodes {
		await(t, fmt.Sprintf("node %d sees the whole cluster", i), func() bool {
			s, err := c.ClusterShards(ctx).Result()
			info := c.ClusterInfo(ctx).Val()
			return err == nil && len(s) == 3 && len(info) > 16 && info[:16] == "cluster_state:ok"
		})
	}
	c := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: addrs, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestSuiteOnACluster(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	statetest.Run(t, func(t *testing.T, l state.Limits) statetest.Medium {
		err := c.ForEachMaster(t.Context(), func(ctx context.Context, n *goredis.Client) error {
			return n.FlushAll(ctx).Err()
		})
		must(t, err)
		return underTest{c, l}
	})
}
