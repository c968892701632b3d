package redis_test

import (
	"flag"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/redis"
	"github.com/mcpedge/mcpedge/edge/state/statetest"
)

// The tests wait for Redis's clock most of the time, so more run at once than there are processors.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// underTest is a Redis that starts empty. Its clock is the real one.
type underTest struct {
	client goredis.UniversalClient
	limits state.Limits
}

func (u underTest) Replica(t *testing.T, id string) state.Store {
	return start(t, u.client, redis.Options{Limits: u.limits, Replica: id})
}

func (u underTest) Advance(_ *testing.T, d time.Duration) { time.Sleep(d) }

// start starts a replica that is closed with the test.
func start(t testing.TB, c goredis.UniversalClient, o redis.Options) *redis.Replica {
	t.Helper()
	r, err := redis.New(c, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

// connect returns a client that is closed with the test.
func connect(t testing.TB, addr string) *goredis.Client {
	t.Helper()
	c := goredis.NewClient(&goredis.Options{Addr: addr, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestSuite(t *testing.T) {
	t.Parallel()
	c := connect(t, startServer(t))
	statetest.Run(t, func(t *testing.T, l state.Limits) statetest.Medium {
		if err := c.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		return underTest{c, l}
	})
}
