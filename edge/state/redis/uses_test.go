package redis_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/redis"
)

// touch revalidates sessions that are there.
func touch(t *testing.T, r *redis.Replica, ids ...string) {
	t.Helper()
	got, err := r.Touch(t.Context(), ids)
	must(t, err)
	if len(got) != len(ids) {
		t.Fatalf("touched %v of %v", got, ids)
	}
}

// Invariant 6: copies in use are revalidated every second, for next to nothing.
func TestInvariant6RevalidationIsOneRead(t *testing.T) {
	t.Parallel()
	c := connect(t, startServer(t))
	a, b := start(t, c, redis.Options{Replica: "a"}), start(t, c, redis.Options{Replica: "b"})
	must(t, a.Create(t.Context(), record("s")))
	must(t, a.Create(t.Context(), record("gone")))
	touch(t, b, "s", "gone") // the first one counts a use
	must(t, c.Del(t.Context(), "mcpedge:{gone}").Err())
	_, err := a.Update(t.Context(), "s", state.Patch{Attach: true})
	must(t, err)
	must(t, c.ConfigResetStat(t.Context()).Err())
	for range 10 {
		got, err := b.Touch(t.Context(), []string{"s", "gone"})
		must(t, err)
		if len(got) != 1 || got["s"] != 1 {
			t.Fatalf("serials %v, want that of s after its change", got)
		}
	}
	calls, _ := commandStats(t, c)
	if calls["hget"] != 20 || calls["evalsha"]+calls["zadd"]+calls["pexpireat"] != 0 {
		t.Errorf("ten revalidations of two sessions took %v", calls)
	}
}

// A session that is only revalidated lives on, and whoever revalidates it is rung.
func TestInvariant6RevalidationKeepsSessionAndHolder(t *testing.T) {
	t.Parallel()
	c := connect(t, startServer(t))
	l := state.Limits{SessionTTL: 400 * time.Millisecond}
	a, b := start(t, c, redis.Options{Replica: "a", Limits: l}), start(t, c, redis.Options{Replica: "b", Limits: l})
	var rung atomic.Int32
	b.Answering(func(state.Bell) { rung.Add(1) })
	must(t, a.Create(t.Context(), record("s")))
	for begin := time.Now(); time.Since(begin) < 4*l.SessionTTL; time.Sleep(10 * time.Millisecond) {
		touch(t, b, "s")
	}
	// A silent holder would have been forgotten with the expiry of the list.
	must(t, a.Ring(t.Context(), state.Bell{Kind: state.BellChanged, Session: "s"}))
	if rung.Load() != 1 {
		t.Errorf("rung %d times, want once", rung.Load())
	}
}

// After a failover Redis may not know who holds and who follows: it is told again at once.
func TestHoldersAndFollowersRegisterAgainAfterALostConnection(t *testing.T) {
	t.Parallel()
	addr := startServer(t)
	p, c := startProxy(t, addr), connect(t, addr)
	r := start(t, connect(t, p.addr), redis.Options{})
	must(t, r.Create(t.Context(), record("s")))
	_, stop := r.Follow("s", "st")
	defer stop()
	for _, key := range []string{"mcpedge:{s}:h", "mcpedge:{s}:f"} {
		registered := func() bool { return c.ZCard(t.Context(), key).Val() == 1 }
		if !registered() {
			t.Fatalf("%s has no member", key)
		}
		must(t, c.Del(t.Context(), key).Err())
		touch(t, r, "s")
		must(t, r.Beat(t.Context()))
		if registered() {
			t.Fatalf("%s is written by every revalidation", key)
		}
		p.refuse(true)
		p.refuse(false)
		await(t, key+" has the replica again", func() bool {
			_, err := r.Touch(t.Context(), []string{"s"})
			return err == nil && r.Beat(t.Context()) == nil && registered()
		})
	}
}

// Followers are renewed before they lapse, without a script per second and stream.
func TestFollowersAreRenewed(t *testing.T) {
	t.Parallel()
	c := connect(t, startServer(t))
	r := start(t, c, redis.Options{Limits: state.Limits{SessionTTL: 800 * time.Millisecond, Lease: 300 * time.Millisecond}})
	must(t, r.Create(t.Context(), record("s")))
	_, stop := r.Follow("s", "st")
	defer stop()
	until := func() float64 {
		list, err := c.ZRangeWithScores(t.Context(), "mcpedge:{s}:f", 0, -1).Result()
		must(t, err)
		if len(list) != 1 {
			t.Fatalf("followers %v, want one", list)
		}
		return list[0].Score
	}
	first := until()
	must(t, r.Beat(t.Context()))
	if until() != first {
		t.Error("renewed as soon as it was registered")
	}
	for begin := time.Now(); time.Since(begin) < 2*time.Second; time.Sleep(20 * time.Millisecond) {
		must(t, r.Beat(t.Context()))
		if left := time.UnixMilli(int64(until())).Sub(time.Now()); left < 0 {
			t.Fatalf("the registration lapsed %v ago", -left)
		}
	}
	if exists := c.Exists(t.Context(), "mcpedge:{s}").Val(); exists != 1 {
		t.Error("the session that is followed has ended")
	}
}
