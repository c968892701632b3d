package redis_test

import (
	"flag"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/mcpedge/mcpedge/edge/state/medium"
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

// start starts a replica that is closed with the test, with the hooks of the first that are given.
func start(t testing.TB, c goredis.UniversalClient, o redis.Options, hooks ...medium.Hooks) *redis.Replica {
	t.Helper()
	r, err := redis.New(c, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(hooks) > 0 {
		r.Store(hooks[0])
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

// beat says that a replica lives.
func beat(t testing.TB, r *redis.Replica) error {
	_, err := r.Beat(t.Context(), 0, false)
	return err
}

// begin begins a call on a stream.
func begin(t testing.TB, r *redis.Replica, session, stream, id string) *statetest.Writer {
	t.Helper()
	w, err := statetest.Begin(t.Context(), r, session, stream, call(id))
	must(t, err)
	return w[0]
}
