package redis_test

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/state/redis"
	"github.com/mcpedge/mcpedge/edge/state/statetest"
)

// suiteMedium is a Redis that starts empty. Its clock is the real one.
type suiteMedium struct {
	client goredis.UniversalClient
	limits state.Limits
	// replicas are those of a test.
	replicas *[]*redis.Replica
	// keys are the state keys. Every second replica has them in reverse, as during a rotation.
	keys [][]byte
}

func (u suiteMedium) Store(t *testing.T, id string, h medium.Hooks) medium.Store {
	t.Helper()
	keys := slices.Clone(u.keys)
	if len(*u.replicas)%2 == 1 {
		slices.Reverse(keys)
	}
	r, err := redis.New(u.client, redis.Options{Limits: u.limits, Replica: id, Keys: keys})
	must(t, err)
	t.Cleanup(func() { must(t, r.Close()) })
	s := r.Store(h)
	must(t, r.Start(t.Context()))
	*u.replicas = append(*u.replicas, r)
	return s
}

// SealBytes implements statetest.Sealing.
func (u suiteMedium) SealBytes() int {
	if len(u.keys) == 0 {
		return 0
	}
	return redis.SealSize
}

func (u suiteMedium) Advance(_ *testing.T, d time.Duration) { time.Sleep(d) }

func (u suiteMedium) Snapshot(t *testing.T, session string) (back func()) {
	put := copyKeys(t, u.client, "mcpedge:{"+session+"}*", "mcpedge:b:*")
	return func() {
		put()
		for _, r := range *u.replicas {
			r.Forget()
		}
	}
}

func TestSuite(t *testing.T) {
	t.Parallel()
	c := connect(t, startServer(t))
	statetest.Run(t, func(t *testing.T, l state.Limits) statetest.Medium {
		must(t, c.FlushAll(t.Context()).Err())
		return suiteMedium{c, l, new([]*redis.Replica), nil}
	})
}

// The suite holds as well where values are sealed, by replicas that seal with different keys.
func TestSuiteSealed(t *testing.T) {
	t.Parallel()
	c := connect(t, startServer(t))
	statetest.Run(t, func(t *testing.T, l state.Limits) statetest.Medium {
		must(t, c.FlushAll(t.Context()).Err())
		return suiteMedium{c, l, new([]*redis.Replica), [][]byte{stateKey(1), stateKey(2)}}
	})
}

func TestSuiteOnACluster(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	statetest.Run(t, func(t *testing.T, l state.Limits) statetest.Medium {
		must(t, c.ForEachMaster(t.Context(), func(ctx context.Context, n *goredis.Client) error { return n.FlushAll(ctx).Err() }))
		return suiteMedium{c, l, new([]*redis.Replica), nil}
	})
}

func TestAgreesWithTheModel(t *testing.T)       { agreesWithTheModel(t) }
func TestSealedAgreesWithTheModel(t *testing.T) { agreesWithTheModel(t, stateKey(1), stateKey(2)) }

func agreesWithTheModel(t *testing.T, keys ...[]byte) {
	t.Parallel()
	u := suiteMedium{connect(t, startServer(t)), statetest.Patient, new([]*redis.Replica), keys}
	var stores [3]medium.Store
	for i := range stores {
		stores[i] = u.Store(t, "r", medium.Hooks{})
	}
	statetest.Drawn(t, stores, func(session string) func() { return u.Snapshot(t, session) })
}

// stateKey is a state key of 32 equal bytes.
func stateKey(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }

// copied is a key's value, and how long it lives.
type copied struct {
	dump string
	ttl  time.Duration
}

// copyKeys copies keys that match; put puts them in the place of what is there then.
func copyKeys(t *testing.T, c goredis.UniversalClient, patterns ...string) (put func()) {
	t.Helper()
	ctx, copies := t.Context(), map[string]copied{}
	for _, key := range keysOf(t, c, patterns) {
		if dump, err := c.Dump(ctx, key).Result(); err != goredis.Nil { // It may have expired since.
			must(t, err)
			copies[key] = copied{dump, max(c.PTTL(ctx, key).Val(), 0)}
		}
	}
	return func() {
		for _, key := range keysOf(t, c, patterns) {
			must(t, c.Del(ctx, key).Err())
		}
		for key, k := range copies {
			must(t, c.Restore(ctx, key, k.ttl, k.dump).Err())
		}
	}
}

// keysOf are the keys that match, of a single server or of a Cluster.
func keysOf(t *testing.T, c goredis.UniversalClient, patterns []string) (all []string) {
	t.Helper()
	var mu sync.Mutex
	find := func(ctx context.Context, c goredis.Cmdable) error {
		mu.Lock()
		defer mu.Unlock()
		for _, p := range patterns {
			list, err := c.Keys(ctx, p).Result()
			if err != nil {
				return err
			}
			all = append(all, list...)
		}
		return nil
	}
	if cluster, ok := c.(*goredis.ClusterClient); ok {
		must(t, cluster.ForEachMaster(t.Context(), func(ctx context.Context, c *goredis.Client) error { return find(ctx, c) }))
	} else {
		must(t, find(t.Context(), c))
	}
	return all
}
