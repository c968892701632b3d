package redis_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/redis"
	"github.com/mcpedge/mcpedge/edge/state/statetest"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

func record(id string) *state.Session {
	return &state.Session{ID: id, Principal: mcp.Principal{Subject: "alice", Issuer: "https://issuer.example"}}
}

func call(id string) state.Request {
	return state.Request{
		ID: id, RequestID: `"` + id + `"`, Method: mcp.MethodToolsCall, Params: []byte(`{"name":"t"}`),
		Deadline: time.Now().Add(time.Hour), Round: 1, Attempt: 1,
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, kind, err error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("got error %v, want %v", err, kind)
	}
}

// use makes a session with one call that waits for an answer, one that runs and one that is done,
// and a follower.
func use(t *testing.T, r *redis.Replica, id string) (calls []*statetest.Writer, stop func()) {
	t.Helper()
	ctx := t.Context()
	must(t, r.Create(ctx, record(id)))
	for _, stream := range []string{"waits", "runs", "done"} {
		w := begin(t, r, id, stream, stream)
		must(t, w.Append(ctx, state.Entry{Kind: state.EntryLog, Data: []byte("{}")}))
		calls = append(calls, w)
	}
	must(t, calls[0].Ask(ctx, []byte("state"), state.Ask{ID: "q", Key: "k", ElicitationID: "e", Message: []byte("{}")}))
	must(t, calls[2].Finish(ctx, []byte("{}")))
	must(t, statetest.Conclude(ctx, r, id, "concluded", call("concluded"), []byte("{}"), state.Entry{Kind: state.EntryLog, Data: []byte("{}")}))
	return calls, r.Follow(id, "runs", func() {})
}

// keys are all keys of a Redis that do not belong to a replica alone.
func keys(t *testing.T, c *goredis.Client) []string {
	t.Helper()
	all, err := c.Keys(t.Context(), "*").Result()
	must(t, err)
	all = slices.DeleteFunc(all, func(k string) bool { return strings.HasPrefix(k, "mcpedge:r:") })
	slices.Sort(all)
	return all
}

func TestEveryKeyExpires(t *testing.T) {
	t.Parallel()
	c := connect(t, startServer(t))
	r := start(t, c, redis.Options{})
	_, stop := use(t, r, "s")
	defer stop()
	list := keys(t, c)
	if len(list) < 12 {
		t.Fatalf("only the keys %q", list)
	}
	for _, k := range list {
		if ttl := c.TTL(t.Context(), k).Val(); ttl <= 0 {
			t.Errorf("key %s never expires", k)
		}
	}
}

// A session whose first stream is a concluded one: its keys are new.
func TestEveryKeyOfAConcludedCallExpires(t *testing.T) {
	t.Parallel()
	c := connect(t, startServer(t))
	r, ctx := start(t, c, redis.Options{}), t.Context()
	must(t, r.Create(ctx, record("s")))
	for i := range 3 {
		// The second and third use of the session are not counted.
		name := fmt.Sprint("c", i)
		must(t, statetest.Conclude(ctx, r, "s", name, call(name), []byte("{}"), state.Entry{Kind: state.EntryLog, Data: []byte("{}")}))
		all := keys(t, c)
		for _, key := range all {
			if c.PTTL(ctx, key).Val() < 0 {
				t.Errorf("after %d calls %s does not expire", i+1, key)
			}
		}
		if len(all) < 6 {
			t.Fatalf("only the keys %q", all)
		}
	}
}

// Keys that went when they were empty expire when they come back, whether or not a use is counted
// with that.
func TestEveryKeyThatComesBackExpires(t *testing.T) {
	t.Parallel()
	c := connect(t, startServer(t))
	r := start(t, c, redis.Options{Limits: state.Limits{LogTTL: time.Second}})
	must(t, r.Create(t.Context(), record("s")))
	for round := range 3 {
		w := begin(t, r, "s", fmt.Sprint("st", round), fmt.Sprint("c", round))
		expire := func(when string, least int) {
			list := keys(t, c)
			if len(list) < least {
				t.Fatalf("%s there are only the keys %q", when, list)
			}
			for _, k := range list {
				if c.PTTL(t.Context(), k).Val() == -1 { // -2: it has expired since
					t.Errorf("round %d, %s: key %s never expires", round, when, k)
				}
			}
		}
		expire("once begun", 7)
		must(t, w.Append(t.Context(), state.Entry{Kind: state.EntryLog, Data: []byte("{}")}))
		expire("once written", 9)
		must(t, w.Finish(t.Context(), []byte("{}")))
		expire("once ended", 8)
		await.Until(t, "nothing is left of the stream", func() bool {
			_, err := r.Load(t.Context(), "s", true)
			must(t, err)
			return c.Exists(t.Context(), "mcpedge:{s}:m", "mcpedge:{s}:e", "mcpedge:{s}:f").Val() == 0
		})
	}
}

func TestDeleteLeavesNoKey(t *testing.T) {
	t.Parallel()
	c := connect(t, startServer(t))
	a, b := start(t, c, redis.Options{Replica: "a"}), start(t, c, redis.Options{Replica: "b"})
	for _, id := range []string{"s", "{odd} session:id\x00"} {
		_, stop := use(t, a, id)
		_, err := b.Load(t.Context(), id, true)
		must(t, err)
		must(t, a.Delete(t.Context(), id))
		stop()
		left := keys(t, c)
		if len(left) != 1 || !strings.HasSuffix(left[0], ":x") {
			t.Errorf("left: %q, want only the holders", left)
		}
		for _, k := range left {
			if ttl := c.TTL(t.Context(), k).Val(); ttl <= 0 || ttl > 10*time.Second {
				t.Errorf("key %s lives for %v", k, ttl)
			}
		}
		must(t, c.FlushDB(t.Context()).Err())
	}
}

func TestFinishedStreamsAreFreed(t *testing.T) {
	t.Parallel()
	c := connect(t, startServer(t))
	r := start(t, c, redis.Options{Limits: state.Limits{LogTTL: 50 * time.Millisecond}})
	must(t, r.Create(t.Context(), record("s")))
	before := keys(t, c)
	must(t, begin(t, r, "s", "st", "c").Finish(t.Context(), []byte("{}")))
	await.Until(t, "the stream's keys are gone", func() bool {
		_, err := r.Load(t.Context(), "s", true)
		must(t, err)
		return slices.Equal(before, keys(t, c))
	})
}

func TestScriptsComeBackAfterAFlush(t *testing.T) {
	t.Parallel()
	c := connect(t, startServer(t))
	r := start(t, c, redis.Options{})
	calls, stop := use(t, r, "s")
	defer stop()
	must(t, c.ScriptFlush(t.Context()).Err())
	got, err := r.Touch(t.Context(), []string{"s", "never"}, true)
	must(t, err)
	if len(got) != 1 {
		t.Errorf("touched %v", got)
	}
	must(t, c.ScriptFlush(t.Context()).Err())
	must(t, calls[1].Finish(t.Context(), []byte("{}")))
}

func TestEvictionPolicy(t *testing.T) {
	t.Parallel()
	addr := startServer(t, "--maxmemory-policy", "allkeys-lru")
	c := connect(t, addr)
	r, err := redis.New(c, redis.Options{})
	must(t, err)
	defer r.Close()
	err = r.Start(t.Context())
	if err == nil || errors.Is(err, state.ErrUnavailable) || !strings.Contains(err.Error(), `set it to "noeviction"`) {
		t.Fatalf("started on a Redis that evicts: %v", err)
	}
	// If the policy may not be queried, there must be a warning.
	must(t, c.ACLSetUser(t.Context(), "edge", "on", ">secret", "~*", "&*", "+@all", "-config").Err())
	u := goredis.NewClient(&goredis.Options{Addr: addr, Username: "edge", Password: "secret"})
	defer u.Close()
	start(t, u, redis.Options{}).Stats()
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	c := connect(t, "127.0.0.1:1")
	if _, err := redis.New(nil, redis.Options{}); err == nil {
		t.Error("made without a client")
	}
	if _, err := redis.New(c, redis.Options{Prefix: "a{b"}); err == nil {
		t.Error("made with a prefix that takes the hash tag's place")
	}
	r, err := redis.New(c, redis.Options{})
	must(t, err)
	want(t, state.ErrUnavailable, r.Start(t.Context()))
	must(t, r.Close())
}

// Sessions that ended long before their places are given up by themselves make room at the bound.
func TestPlacesOfEndedSessionsAreFound(t *testing.T) {
	t.Parallel()
	c := connect(t, startServer(t))
	r := start(t, c, redis.Options{Limits: state.Limits{SessionsPerPrincipal: 2}})
	must(t, r.Create(t.Context(), record("s1")))
	must(t, r.Create(t.Context(), record("s2")))
	want(t, state.ErrLimit, r.Create(t.Context(), record("s3")))
	must(t, c.Del(t.Context(), "mcpedge:{s1}").Err())
	await.Until(t, "the place of the session that is gone is free", func() bool {
		err := r.Create(t.Context(), record("s3"))
		if err != nil {
			want(t, state.ErrLimit, err)
		}
		return err == nil
	})
	want(t, state.ErrLimit, r.Create(t.Context(), record("s4")))
}

func TestStaleIndexEntriesArePruned(t *testing.T) {
	t.Parallel()
	c := connect(t, startServer(t))
	r := start(t, c, redis.Options{})
	_, stop := use(t, r, "s")
	defer stop()
	if n := streamsIndexed(t, c); n != 2 {
		t.Fatalf("%d streams are indexed, want the two unfinished ones", n)
	}
	must(t, c.ZAdd(t.Context(), "mcpedge:b:{3}", goredis.Z{Score: 1, Member: "4:nevr" + "st"},
		goredis.Z{Score: float64(time.Now().UnixMilli()), Member: "4:nevr" + "just beginning"}).Err())
	_, err := r.Beat(t.Context(), 10, false)
	must(t, err)
	if n := streamsIndexed(t, c); n != 3 {
		t.Errorf("%d entries, want the stale one gone and the young one kept", n)
	}
}

func streamsIndexed(t *testing.T, c *goredis.Client) (n int64) {
	t.Helper()
	for i := range 64 {
		n += c.ZCard(t.Context(), fmt.Sprintf("mcpedge:b:{%d}", i)).Val()
	}
	return n
}

// A list continues at its cursor, also with more principals than a cursor carries, and in a
// keyspace that it shares.
func TestListAmongManyPrincipals(t *testing.T) {
	t.Parallel()
	c := connect(t, startServer(t))
	r := start(t, c, redis.Options{Prefix: "odd*[prefix]"})
	ctx := t.Context()
	const many = 1500
	want := map[string]bool{}
	for i := range many {
		id := fmt.Sprint("s", i)
		must(t, r.Create(ctx, &state.Session{ID: id, Principal: mcp.Principal{Subject: fmt.Sprint(i)}}))
		want[id] = true
	}
	must(t, start(t, c, redis.Options{Prefix: "oddXp"}).Create(ctx, &state.Session{ID: "foreign"}))
	for cursor, first := "", true; first || cursor != ""; first = false {
		page, next, err := r.List(ctx, cursor, 50)
		must(t, err)
		if len(next) > 4<<10 {
			t.Fatalf("a cursor of %d bytes", len(next))
		}
		for _, s := range page {
			if !want[s.ID] {
				t.Fatalf("session %s was listed twice or is none", s.ID)
			}
			delete(want, s.ID)
		}
		cursor = next
	}
	if len(want) > 0 {
		t.Errorf("%d of %d sessions were not listed", len(want), many)
	}
	for _, cursor := range []string{"!", "AAAA", "AQ"} {
		if _, _, err := r.List(ctx, cursor, 1); !errors.Is(err, state.ErrCursor) {
			t.Errorf("cursor %q: error %v, want %v", cursor, err, state.ErrCursor)
		}
	}
}
