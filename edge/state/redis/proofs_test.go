package redis_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/redis"
	"github.com/mcpedge/mcpedge/tests/redisserver"
)

// A proof is used once on all replicas, its key expires, and without Redis it is not known.
func TestProofs(t *testing.T) {
	t.Parallel()
	server := redisserver.ForTest(t)
	client := goredis.NewClient(&goredis.Options{Addr: server.Addr, ContextTimeoutEnabled: true, MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	var replicas [2]*redis.Proofs
	for i := range replicas {
		r, err := redis.New(client, redis.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Close() })
		replicas[i] = r.Proofs()
	}
	for i, want := range []bool{true, false} {
		if fresh, err := replicas[i].Spend(t.Context(), "key of ann", time.Minute); fresh != want || err != nil {
			t.Errorf("replica %d: %t, %v, want %t", i, fresh, err, want)
		}
	}
	if fresh, err := replicas[1].Spend(t.Context(), "another", time.Minute); !fresh || err != nil {
		t.Errorf("another proof: %t, %v", fresh, err)
	}
	keys, err := client.Keys(t.Context(), "mcpedge:p*").Result()
	if err != nil || len(keys) != 2 {
		t.Fatalf("%q, %v", keys, err)
	}
	for _, key := range keys {
		if ttl := client.PTTL(t.Context(), key).Val(); ttl <= 0 || ttl > time.Minute || strings.Contains(key, "ann") {
			t.Errorf("the key %s expires in %s", key, ttl)
		}
	}
	server.Kill()
	if fresh, err := replicas[0].Spend(t.Context(), "a third", time.Minute); fresh || !errors.Is(err, state.ErrUnavailable) {
		t.Errorf("without Redis: %t, %v", fresh, err)
	}
}
