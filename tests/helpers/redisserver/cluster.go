package redisserver

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// slots is the number of slots of a Redis Cluster.
const slots = 16384

// Join makes a Redis Cluster of running servers with the setting cluster-enabled, all of them masters that have the slots in
// the servers' order. It returns when each server serves the whole Cluster, and fails when ctx ends.
func Join(ctx context.Context, addrs ...string) error {
	nodes := make([]*redis.Client, len(addrs))
	for i, addr := range addrs {
		nodes[i] = redis.NewClient(&redis.Options{Addr: addr})
		defer func() { _ = nodes[i].Close() }()
	}
	bus, err := nodes[0].ConfigGet(ctx, "cluster-port").Result()
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(addrs[0])
	if err != nil {
		return err
	}
	for i, c := range nodes {
		if err := c.ClusterAddSlotsRange(ctx, i*slots/len(nodes), (i+1)*slots/len(nodes)-1).Err(); err != nil {
			return err
		}
		// Nodes with equal epochs take seconds to agree on others.
		if err := c.Do(ctx, "cluster", "set-config-epoch", i+1).Err(); err != nil {
			return err
		}
		if i > 0 {
			if err := c.Do(ctx, "cluster", "meet", host, port, bus["cluster-port"]).Err(); err != nil {
				return err
			}
		}
	}
	for i, c := range nodes {
		for !Joined(ctx, c, len(nodes)) {
			select {
			case <-time.After(5 * time.Millisecond):
			case <-ctx.Done():
				return fmt.Errorf("the node %s does not see the whole Cluster: %w", addrs[i], ctx.Err())
			}
		}
	}
	return nil
}

// Joined reports whether a node of a Cluster serves its slots and knows all masters.
func Joined(ctx context.Context, c *redis.Client, masters int) bool {
	shards, err := c.ClusterShards(ctx).Result()
	return err == nil && len(shards) == masters && strings.HasPrefix(c.ClusterInfo(ctx).Val(), "cluster_state:ok")
}
