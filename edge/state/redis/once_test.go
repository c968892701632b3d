package redis_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/redis"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// A proof is used once on all replicas, a caller has so many at a time, their key expires, and without Redis it is not known.
func TestProofs(t *testing.T) {
	t.Parallel()
	server := redisserver.ForTest(t)
	client := goredis.NewClient(&goredis.Options{Addr: server.Addr, ContextTimeoutEnabled: true, MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	var replicas [2]*redis.Once
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
	spend := func(replica int, caller, id string, most int) (bool, error) {
		return replicas[replica].Spend(t.Context(), caller, id, time.Minute, most)
	}
	for i, want := range []bool{true, false} {
		if fresh, err := spend(i, "ann", "first", 2); fresh != want || err != nil {
			t.Errorf("replica %d: %t, %v, want %t", i, fresh, err, want)
		}
	}
	for i, c := range []struct {
		caller, id string
		fresh      bool
		full       bool
	}{
		{"ann", "second", true, false}, {"ann", "third", false, true}, {"ann", "second", false, false}, {"bob", "first", true, false},
	} {
		fresh, err := spend(i%2, c.caller, c.id, 2)
		if full := err != nil && mcp.AsError(err).Kind == mcp.KindLimit; fresh != c.fresh || full != c.full || err != nil && !full {
			t.Errorf("%s's %s: %t, %v", c.caller, c.id, fresh, err)
		}
	}
	for i, c := range []struct {
		caller, id string
		want       bool
	}{{"ann", "first", true}, {"ann", "third", false}, {"bob", "first", true}, {"bob", "second", false}, {"cid", "first", false}} {
		if spent, err := replicas[i%2].Spent(t.Context(), c.caller, c.id); spent != c.want || err != nil {
			t.Errorf("%s's %s: %t, %v", c.caller, c.id, spent, err)
		}
	}
	keys, err := client.Keys(t.Context(), "mcpedge:dpop:*").Result()
	if err != nil || len(keys) != 2 {
		t.Fatalf("%q, %v", keys, err)
	}
	for _, key := range keys {
		members, err := client.ZRange(t.Context(), key, 0, -1).Result()
		if ttl := client.PTTL(t.Context(), key).Val(); err != nil || ttl <= 0 || ttl > time.Minute || strings.Contains(key+strings.Join(members, ""), "ann") {
			t.Errorf("the key %s with %q expires in %s: %v", key, members, ttl, err)
		}
	}
	for _, want := range []time.Duration{time.Millisecond, time.Hour} { // one that is over frees its place; the key stays for the longest
		if fresh, err := replicas[0].Spend(t.Context(), "cid", want.String(), want, 2); !fresh || err != nil {
			t.Errorf("for %v: %t, %v", want, fresh, err)
		}
	}
	await.Until(t, "the place of the proof that is over is free", func() bool {
		fresh, _ := replicas[1].Spend(t.Context(), "cid", "next", time.Minute, 2)
		return fresh
	})
	if spent, err := replicas[0].Spent(t.Context(), "cid", time.Millisecond.String()); spent || err != nil {
		t.Errorf("after its time: %t, %v", spent, err)
	}
	if fresh, err := replicas[1].Spend(t.Context(), "cid", time.Hour.String(), time.Minute, 3); fresh || err != nil {
		t.Errorf("one that lasts longer than those after it: %t, %v", fresh, err)
	}
	server.Kill()
	if spent, err := replicas[0].Spent(t.Context(), "ann", "first"); spent || !errors.Is(err, state.ErrUnavailable) {
		t.Errorf("without Redis: %t, %v", spent, err)
	}
	if fresh, err := replicas[0].Spend(t.Context(), "ann", "another", time.Minute, 9); fresh || !errors.Is(err, state.ErrUnavailable) {
		t.Errorf("without Redis: %t, %v", fresh, err)
	}
}

// Proofs are not sessions: neither the list of sessions nor the bound on those of a principal
// includes them.
func TestProofsAreNoSessions(t *testing.T) {
	t.Parallel()
	c := connect(t, startServer(t))
	r, ctx := start(t, c, redis.Options{}), t.Context()
	who := mcp.Principal{Subject: "ann", Issuer: "https://id.example"}
	for _, proof := range []string{"one", "two"} {
		fresh, err := r.Proofs().Spend(ctx, who.Key(), proof, time.Minute, 9)
		if must(t, err); !fresh {
			t.Errorf("the proof %s is not fresh", proof)
		}
	}
	must(t, r.Create(ctx, &state.Session{ID: "s", Principal: who}))
	page, next, err := r.List(ctx, "", 10)
	if must(t, err); len(page) != 1 || page[0].ID != "s" || next != "" {
		t.Errorf("the list has %d sessions, %q follows", len(page), next)
	}
	if fresh, err := r.Proofs().Spend(ctx, who.Key(), "one", time.Minute, 9); fresh || err != nil {
		t.Errorf("a proof again: %t, %v", fresh, err)
	}
}

// awaitKept uses confirmations until one is acknowledged, which may take a busy machine longer than Spend waits, and returns its id.
func awaitKept(t *testing.T, r *redis.Replica) (id string) {
	t.Helper()
	n := 0
	await.Until(t, "a confirmation that is acknowledged", func() bool {
		n++
		id = fmt.Sprint("kept", n)
		fresh, err := r.Confirmations().Spend(t.Context(), "ann", id, time.Hour, 1000)
		if err != nil {
			want(t, state.ErrUnacknowledged, err)
		}
		return fresh && err == nil // It is not fresh if it was sent again because a reply was late.
	})
	return id
}

// A confirmation that is used is acknowledged by as many Redis replicas as are demanded, or it is an error, and stays used. Nothing else of
// its kind waits.
func TestUsedConfirmationsAreAcknowledged(t *testing.T) {
	t.Parallel()
	master, second := redisserver.ForTest(t), redisserver.ForTest(t)
	r := start(t, connect(t, master.Addr), redis.Options{AcknowledgeUsed: 1})
	spend := func(id string, fresh bool, few error) {
		t.Helper()
		got, err := r.Confirmations().Spend(t.Context(), "ann", id, time.Hour, 1000)
		if got != fresh || !errors.Is(err, few) || few != nil && !errors.Is(err, state.ErrUnavailable) {
			t.Errorf("%s: fresh %t, %v, want %t and %v", id, got, err, fresh, few)
		}
	}
	spend("alone", true, state.ErrUnacknowledged)
	spend("alone", false, nil)
	replica := connect(t, second.Addr)
	replicate(t, replica, master.Addr)
	must(t, connect(t, master.Addr).ScriptFlush(t.Context()).Err())
	kept := awaitKept(t, r)
	spend(kept, false, nil)
	keys := replica.Keys(t.Context(), "mcpedge:confirm:*").Val()
	for _, id := range []string{"alone", kept} {
		if sum := sha256.Sum256([]byte(id)); len(keys) != 1 || replica.ZScore(t.Context(), keys[0], string(sum[:16])).Err() != nil {
			t.Errorf("the replica has %v, not %s", keys, id)
		}
	}
	must(t, second.Pause())
	spend("paused", true, state.ErrUnacknowledged)
	spend("paused", false, nil)
	if fresh, err := r.Proofs().Spend(t.Context(), "ann", "proof", time.Minute, 9); !fresh || err != nil {
		t.Errorf("a proof: %t, %v", fresh, err)
	}
	if _, err := made(t, r, "one"); err != nil {
		t.Errorf("a call: %v", err)
	}
	must(t, second.Resume())
	awaitKept(t, r)
	if s := r.Stats(); !s.Healthy || s.Trips > 0 {
		t.Errorf("stats %+v: Redis answered all the while", s)
	}
}

// More that wait than have a turn are refused, and what was not sent can be used later.
func TestConfirmationsWithoutATurnAreNotUsed(t *testing.T) {
	t.Parallel()
	r := start(t, connect(t, redisserver.ForTest(t).Addr), redis.Options{AcknowledgeUsed: 1})
	var used, unused atomic.Int64
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			id := fmt.Sprint(i)
			fresh, err := r.Confirmations().Spend(t.Context(), "ann", id, time.Minute, 1000)
			if want(t, state.ErrUnacknowledged, err); fresh {
				used.Add(1)
				return
			}
			unused.Add(1)
			if spent, err := r.Confirmations().Spent(t.Context(), "ann", id); spent || err != nil {
				t.Errorf("one that was not sent is used: %t, %v", spent, err)
			}
		})
	}
	all.Wait()
	if used.Load() == 0 || unused.Load() == 0 {
		t.Errorf("%d were used and %d had no turn", used.Load(), unused.Load())
	}
}

// A caller whose confirmations wait for the replicas of Redis leaves turns to others.
func TestConfirmationsOfOneCallerLeaveTurns(t *testing.T) {
	t.Parallel()
	server := redisserver.ForTest(t)
	r := start(t, connect(t, server.Addr), redis.Options{AcknowledgeUsed: 1}) // which no replica acknowledges
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	for i := range 64 {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				_, _ = r.Confirmations().Spend(ctx, "ann", fmt.Sprint(i, n), time.Minute, 100_000)
			}
		})
	}
	info := connect(t, server.Addr)
	await.Until(t, "confirmations that wait", func() bool { return blocked(t, info) >= 8 })
	for i := range 3 {
		if fresh, err := r.Confirmations().Spend(t.Context(), "bob", fmt.Sprint(i), time.Minute, 9); !fresh || !errors.Is(err, state.ErrUnacknowledged) {
			t.Errorf("%d: fresh %t, %v: there was no turn", i, fresh, err)
		}
	}
}
