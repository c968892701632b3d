package redis_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/state/redis"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// touch revalidates sessions that are there.
func touch(t *testing.T, r *redis.Replica, ids ...string) {
	t.Helper()
	got, err := r.Touch(t.Context(), ids, true)
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
		got, err := b.Touch(t.Context(), []string{"s", "gone"}, true)
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

// A session that is only revalidated stays alive, and its revalidating replica stays a holder.
func TestInvariant6RevalidationKeepsSessionAndHolder(t *testing.T) {
	t.Parallel()
	c := connect(t, startServer(t))
	l := state.Limits{SessionTTL: 4 * time.Second}
	var heard atomic.Int32
	a := start(t, c, redis.Options{Replica: "a", Limits: l})
	b := start(t, c, redis.Options{Replica: "b", Limits: l}, medium.Hooks{Event: func(state.SessionEvent) { heard.Add(1) }})
	must(t, a.Create(t.Context(), record("s")))
	touch(t, b, "s")
	// When the session ends, and when its youngest holder last used it.
	end := func() time.Duration { return c.PExpireTime(t.Context(), "mcpedge:{s}").Val() }
	used := func() float64 {
		list, err := c.ZRevRangeWithScores(t.Context(), "mcpedge:{s}:h", 0, 0).Result()
		must(t, err)
		if len(list) != 1 || !strings.HasPrefix(list[0].Member.(string), "b-") {
			t.Fatalf("the youngest holder is %v, want b", list)
		}
		return list[0].Score
	}
	for range 2 {
		lastEnd, lastUse := end(), used()
		await.Until(t, "the session lives longer and b has used it", func() bool {
			touch(t, b, "s")
			return end() > lastEnd && used() > lastUse
		})
	}
	must(t, a.Notify(t.Context(), state.SessionEvent{Kind: state.SessionChanged, Session: "s"}))
	await.Until(t, "b has heard of the session event", func() bool { return heard.Load() == 1 })
}

// After a failover Redis may have lost holders and followers: they are registered again at once.
func TestHoldersAndFollowersRegisterAgainAfterALostConnection(t *testing.T) {
	t.Parallel()
	addr := startServer(t)
	p, c := startProxy(t, addr), connect(t, addr)
	r := start(t, connect(t, p.addr), redis.Options{})
	must(t, r.Create(t.Context(), record("s")))
	defer r.Follow("s", "st", func() {})()
	for _, key := range []string{"mcpedge:{s}:h", "mcpedge:{s}:f"} {
		registered := func() bool { return c.ZCard(t.Context(), key).Val() == 1 }
		if !registered() {
			t.Fatalf("%s has no member", key)
		}
		must(t, c.Del(t.Context(), key).Err())
		touch(t, r, "s")
		must(t, beat(t, r))
		if registered() {
			t.Fatalf("%s is written by every revalidation", key)
		}
		p.refuse(true)
		p.refuse(false)
		await.Until(t, key+" has the replica again", func() bool {
			_, err := r.Touch(t.Context(), []string{"s"}, true)
			return err == nil && beat(t, r) == nil && registered()
		})
	}
}

// Followers are renewed before they lapse, without a script per second and stream.
func TestFollowersAreRenewed(t *testing.T) {
	t.Parallel()
	c := connect(t, startServer(t))
	r := start(t, c, redis.Options{Limits: state.Limits{SessionTTL: 16 * time.Second, Lease: 300 * time.Millisecond}})
	must(t, r.Create(t.Context(), record("s")))
	defer r.Follow("s", "st", func() {})()
	until := func() float64 {
		list, err := c.ZRangeWithScores(t.Context(), "mcpedge:{s}:f", 0, -1).Result()
		must(t, err)
		if len(list) != 1 {
			t.Fatalf("followers %v, want one", list)
		}
		return list[0].Score
	}
	first := until()
	must(t, beat(t, r))
	if until() != first {
		t.Error("renewed as soon as it was registered")
	}
	await.Until(t, "the registration is renewed", func() bool {
		must(t, beat(t, r))
		return until() > first
	})
	if left := time.Until(time.UnixMilli(int64(first))); left < 0 {
		t.Errorf("the registration lapsed %v before it was renewed", -left)
	}
}

// Sessions that are only counted, as those of tasks are, are forgotten, too.
func TestRenewalsOfUnusedSessionsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if n := redis.Renewed(time.Minute, 1000); n > 200 {
			t.Errorf("%d are kept, want those of about two minutes", n)
		}
	})
}
