package replicas

import (
	"context"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// Acknowledged writes survive a restart. A detached replica has the writes before it was detached,
// and none after.
func TestRedisKeepsWhatItAcknowledged(t *testing.T) {
	redisserver.Require(t)
	ctx, dir := context.Background(), t.TempDir()
	start := func(name string) *Redis {
		r, err := StartRedis(ctx, dir, name, true)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := r.Stop(); err != nil {
				t.Error(err)
			}
		})
		return r
	}
	value := func(r *Redis) string {
		c := r.Client()
		defer c.Close()
		return c.Get(ctx, "k").Val()
	}
	set := func(r *Redis, v string) {
		t.Helper()
		c := r.Client()
		defer c.Close()
		if err := c.Set(ctx, "k", v, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	master := start("master")
	set(master, "before")
	check(Restart(ctx, master))
	if got := value(master); got != "before" {
		t.Fatalf("after a restart: %q", got)
	}
	replica := start("replica")
	check(replica.Copy(ctx, master))
	if got := value(replica); got != "before" {
		t.Fatalf("the replica has %q", got)
	}
	check(replica.Detach(ctx))
	set(master, "after")
	set(replica, "own")
	if a, b := value(master), value(replica); a != "after" || b != "own" {
		t.Errorf("detached, they have %q and %q", a, b)
	}
}

// The masters of a Cluster have their data after a restart, and Restart returns when they serve it.
func TestClusterKeepsWhatItAcknowledged(t *testing.T) {
	redisserver.Require(t)
	ctx := context.Background()
	nodes, err := StartCluster(ctx, t.TempDir(), 3, true)
	t.Cleanup(func() {
		for _, r := range nodes {
			if err := r.Stop(); err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	o, err := redis.ParseClusterURL("redis://" + nodes[0].Addr)
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClusterClient(o)
	defer c.Close()
	for i := range 20 { // over all masters
		if err := c.Set(ctx, fmt.Sprint(i), i, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := Restart(ctx, nodes...); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if n, err := c.Get(ctx, fmt.Sprint(i)).Int(); err != nil || n != i {
			t.Errorf("after a restart, %d is %d: %v", i, n, err)
		}
	}
}
