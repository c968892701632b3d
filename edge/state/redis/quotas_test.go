package redis_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/quota"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/redis"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

func quotasOn(t *testing.T, client goredis.UniversalClient) quota.Store {
	t.Helper()
	r, err := redis.New(client, redis.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r.Quotas()
}

// The script gives a budget as Memory does: a burst, a rate, what is given back, and no more than
// the burst.
func TestQuotas(t *testing.T) {
	t.Parallel()
	addr := startServer(t)
	client := goredis.NewClient(&goredis.Options{Addr: addr, ContextTimeoutEnabled: true})
	quotasAre(t, client)
	keys, err := client.Keys(t.Context(), "mcpedge:q*").Result()
	if err != nil || len(keys) == 0 {
		t.Fatalf("%q, %v", keys, err)
	}
	for _, key := range keys {
		if ttl, err := client.PTTL(t.Context(), key).Result(); err != nil || ttl == -1 { // -2: it has expired meanwhile
			t.Errorf("the key %s does not expire: %v, %v", key, ttl, err)
		}
		if strings.Contains(key, "ann") {
			t.Errorf("the key %s reveals the caller", key)
		}
	}
}

func TestQuotasInCluster(t *testing.T) {
	t.Parallel()
	quotasAre(t, startCluster(t))
}

func quotasAre(t *testing.T, client goredis.UniversalClient) {
	t.Helper()
	s, hour := quotasOn(t, client), quota.Budget{Interval: time.Hour, Burst: 10}
	take := func(key string, b quota.Budget, want int) (int, time.Duration) {
		t.Helper()
		n, wait, err := s.Take(t.Context(), key, b, want)
		if err != nil {
			t.Fatal(err)
		}
		return n, wait
	}
	if n, wait := take("ann", hour, 7); n != 7 || wait != 0 {
		t.Errorf("7 of 10 calls: %d, %s", n, wait)
	}
	if n, _ := take("ann", hour, 7); n != 3 {
		t.Errorf("7 of the 3 calls that are left: %d", n)
	}
	if n, wait := take("ann", hour, 1); n != 0 || wait <= 59*time.Minute || wait > time.Hour {
		t.Errorf("a call of an empty budget: %d, after %s; want none for an hour", n, wait)
	}
	if n, _ := take("ben", hour, 1); n != 1 {
		t.Error("another key has the same budget")
	}
	if err := s.Return(t.Context(), "ann", hour, 4); err != nil {
		t.Fatal(err)
	}
	if n, _ := take("ann", hour, 10); n != 4 {
		t.Errorf("%d of the 4 calls that were given back", n)
	}
	if err := s.Return(t.Context(), "ann", hour, 1000); err != nil {
		t.Fatal(err)
	}
	if n, _ := take("ann", hour, 1000); n != 10 {
		t.Errorf("a budget that was given back more than it had: %d; want its burst of 10", n)
	}
	if n, wait := take("ann", quota.Budget{Interval: time.Minute, Burst: 5}, 1); n != 0 || wait > time.Minute {
		t.Errorf("a smaller budget than the one that was used up: %d, after %s; want none for a minute", n, wait)
	}
	// A larger budget takes the place of one that is used up for hours: it is regained at its own
	// rate.
	take("raised", hour, 10)
	quick := quota.Budget{Interval: 20 * time.Millisecond, Burst: 1}
	await.Until(t, "a call of the larger budget", func() bool { n, _ := take("raised", quick, 1); return n == 1 })
	if n, _ := take("quick", quick, 1); n != 1 {
		t.Fatal("the first call is refused")
	}
	n, wait := take("quick", quick, 1)
	if n == 0 && (wait <= 0 || wait > quick.Interval) {
		t.Errorf("the next call is to wait for %s", wait)
	}
	await.Until(t, "the next call is regained", func() bool { n, _ := take("quick", quick, 1); return n == 1 })
}

// Replicas on one Redis admit the budget together, and never more; which they are is known to each.
func TestReplicasShareQuotas(t *testing.T) {
	t.Parallel()
	addr := startServer(t)
	rule := quota.Rule{Name: "r", Per: quota.PerTool, Budget: quota.Budget{Interval: 5 * time.Millisecond, Burst: 100}}
	const wanted = 500 // which takes two seconds at least
	ctx, cancel := context.WithCancel(t.Context())
	var running, callers sync.WaitGroup
	defer func() { cancel(); running.Wait() }()
	var admitted atomic.Int64
	began := time.Now()
	var last quota.Store
	for range 3 {
		last = quotasOn(t, goredis.NewClient(&goredis.Options{Addr: addr, ContextTimeoutEnabled: true}))
		x := quota.New(quota.Options{Rules: []quota.Rule{rule}, Store: last})
		running.Go(func() { x.Run(ctx) })
		for range 4 {
			callers.Go(func() {
				for admitted.Load() < wanted && time.Since(began) < await.Patience {
					var refused *quota.Refused
					switch err := x.Spend(ctx, &quota.Call{Tool: "t"}); {
					case err == nil:
						admitted.Add(1)
					case errors.As(err, &refused):
						time.Sleep(time.Millisecond)
					default:
						t.Error(err)
						return
					}
				}
			})
		}
	}
	callers.Wait()
	took := time.Since(began)
	most := 100 + float64(took/rule.Budget.Interval)
	if n := admitted.Load(); float64(n) > most || n < wanted {
		t.Errorf("%d calls were admitted in %s; want %d, and %.0f at most", n, took, wanted, most)
	}
	if n, err := last.Sharing(ctx); n != 3 || err != nil {
		t.Errorf("%d replicas share the quotas, %v; want 3", n, err)
	}
}

func TestQuotasOfARedisThatIsAway(t *testing.T) {
	t.Parallel()
	server := redisserver.ForTest(t)
	s := quotasOn(t, goredis.NewClient(&goredis.Options{Addr: server.Addr, ContextTimeoutEnabled: true, DialTimeout: 100 * time.Millisecond, MaxRetries: -1}))
	server.Kill()
	b := quota.Budget{Interval: time.Hour, Burst: 1}
	if n, _, err := s.Take(t.Context(), "k", b, 1); n != 0 || !errors.Is(err, state.ErrUnavailable) {
		t.Errorf("Take: %d, %v", n, err)
	}
	if err := s.Return(t.Context(), "k", b, 1); !errors.Is(err, state.ErrUnavailable) {
		t.Errorf("Return: %v", err)
	}
	if n, err := s.Sharing(t.Context()); n != 0 || !errors.Is(err, state.ErrUnavailable) {
		t.Errorf("Sharing: %s, %v", strconv.Itoa(n), err)
	}
}
