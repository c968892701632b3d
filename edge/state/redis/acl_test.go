package redis_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/catalog/disabled"
	"github.com/mcpedge/mcpedge/edge/ownership"
	"github.com/mcpedge/mcpedge/edge/quota"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/redis"
	"github.com/mcpedge/mcpedge/edge/state/statetest"
)

// documentedUser returns the lines of docs/state.md that begin with ACL SETUSER: the one for a single server, and the one that is added
// for a Cluster.
func documentedUser(t *testing.T) (single, cluster []any) {
	t.Helper()
	page, err := os.ReadFile("../../../docs/state.md")
	must(t, err)
	var commands [][]any
	for line := range strings.Lines(string(page)) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "ACL SETUSER ") {
			var words []any
			for _, word := range strings.Fields(line) {
				words = append(words, word)
			}
			commands = append(commands, words)
		}
	}
	if len(commands) != 2 {
		t.Fatalf("docs/state.md has %d lines that begin with ACL SETUSER, want 2", len(commands))
	}
	return commands[0], commands[1]
}

// loggedIn returns a client that logs in as the documented user.
func loggedIn(t *testing.T, addr string) *goredis.Client {
	t.Helper()
	c := goredis.NewClient(&goredis.Options{Addr: addr, Username: "edge", Password: "PASSWORD", ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// The user of docs/state.md may do everything that the medium needs.
func TestSuiteAsTheDocumentedUser(t *testing.T) {
	t.Parallel()
	addr := startServer(t)
	admin, user := connect(t, addr), loggedIn(t, addr)
	single, _ := documentedUser(t)
	must(t, admin.Do(t.Context(), single...).Err())
	statetest.Run(t, func(t *testing.T, l state.Limits) statetest.Medium {
		must(t, admin.FlushAll(t.Context()).Err())
		return ofUser{suiteMedium{user, l, new([]*redis.Replica), nil}, admin}
	})
}

// ofUser copies keys as a user who may do everything.
type ofUser struct {
	suiteMedium
	admin goredis.UniversalClient
}

func (u ofUser) Snapshot(t *testing.T, session string) (back func()) {
	s := u.suiteMedium
	s.client = u.admin
	return s.Snapshot(t, session)
}

// The documented user may do what is beside the medium, too, and nothing with foreign keys and channels.
func TestTheDocumentedUser(t *testing.T) {
	t.Parallel()
	single, cluster := documentedUser(t)
	addr := startServer(t)
	must(t, connect(t, addr).Do(t.Context(), single...).Err())
	t.Run("single", func(t *testing.T) { asUser(t, loggedIn(t, addr)) })

	servers, addrs := startNodes(t)
	for _, s := range servers {
		must(t, connect(t, s.Addr).Do(t.Context(), single...).Err())
		must(t, connect(t, s.Addr).Do(t.Context(), cluster...).Err())
	}
	c := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: addrs, Username: "edge", Password: "PASSWORD", ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = c.Close() })
	t.Run("cluster", func(t *testing.T) { asUser(t, c) })
}

func asUser(t *testing.T, c goredis.UniversalClient) {
	ctx := t.Context()
	for _, o := range []redis.Options{{}, {Prefix: "mcpedge:task", Accounts: "mcpedge", Acknowledge: 1}} {
		r := start(t, c, o)
		known, err := r.Fit(ctx)
		if err != nil || !known {
			t.Errorf("fit %v, and the eviction policy is known %t", err, known)
		}
		must(t, r.Create(ctx, record("s")))
		_, err = statetest.Begin(ctx, r, "s", "st", call("c"))
		if o.Acknowledge > 0 {
			want(t, state.ErrUnacknowledged, err)
		} else {
			must(t, err)
		}
		_, err = r.Secret(ctx)
		must(t, err)
		must(t, r.Notify(ctx, state.SessionEvent{Session: "s"}))
		must(t, r.Names().Write(ctx, map[string]ownership.Value{"a": {Bytes: []byte("b"), Digest: "c"}}, []string{"d"}))
		_, err = r.Names().Digests(ctx)
		must(t, err)
		must(t, r.Disabled().Supersede(ctx, map[string]ownership.Value{"a": {Bytes: []byte("b"), Digest: "c"}}, map[string]string{"d": "e"}))
		_, err = r.Disabled().Stamp(ctx, "a", disabled.Unstamped{})
		must(t, err)
		_, err = r.Proofs().Spend(ctx, "caller", "proof", time.Minute, 1)
		must(t, err)
		_, err = r.Confirmations().Spent(ctx, "caller", "proof")
		must(t, err)
		_, _, err = r.Quotas().Take(ctx, "key", quota.Budget{Interval: time.Second, Burst: 1}, 1)
		must(t, err)
		_, err = r.Quotas().Sharing(ctx)
		must(t, err)
	}
	for name, err := range map[string]error{
		"a foreign key":     c.Set(ctx, "other", 1, time.Second).Err(),
		"a foreign channel": c.Publish(ctx, "other", "x").Err(),
		"FLUSHALL":          c.FlushAll(ctx).Err(),
		"KEYS":              c.Keys(ctx, "*").Err(),
	} {
		var reply goredis.Error
		if !errors.As(err, &reply) || !goredis.HasErrorPrefix(reply, "NOPERM") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What an edge could not do is found before it starts.
func TestFit(t *testing.T) {
	t.Parallel()
	srv := startServer(t)
	admin := connect(t, srv)
	fit := func(c goredis.UniversalClient, o redis.Options) (bool, error) {
		r, err := redis.New(c, o)
		must(t, err)
		defer r.Close()
		return r.Fit(t.Context())
	}
	const silent = "does not report its eviction policy"
	for _, c := range []struct{ rules, lacks string }{
		{"~other:* &* +@all", "one of the keys"},
		{"~mcpedge:{* &* +@all", "one of the keys"}, // No heartbeats.
		{"~* &* +@read +ping", "'set'"},
		{"~* resetchannels +@all", "channel"},
		{"~* &mcpedge:i:* +@all", "one of the channels"}, // No relay.
		{"~* &* +@all -eval -evalsha", "'eval"},
		{"~* &* +@all -multi", "'multi'"},
		{"~* &* +@all -time", "script"},
		{"~* &* +@all -subscribe", "'subscribe'"},
		{"~* &* +@all -config", silent},
		{"~* &* +@all", ""},
	} {
		must(t, admin.Do(t.Context(), append([]any{"ACL", "SETUSER", "edge", "reset", "on", ">PASSWORD"}, words(c.rules)...)...).Err())
		known, err := fit(loggedIn(t, srv), redis.Options{})
		switch {
		case c.lacks == "" || c.lacks == silent:
			if err != nil || known != (c.lacks == "") {
				t.Errorf("%s: %v, and the eviction policy is known: %t", c.rules, err, known)
			}
		case !errors.Is(err, state.ErrUnavailable) || !strings.Contains(err.Error(), c.lacks) || !strings.Contains(err.Error(), "Redis does not allow this user") || !redis.IsPermanent(err):
			t.Errorf("%s: %v does not have %s, or passes: %t", c.rules, err, c.lacks, !redis.IsPermanent(err))
		}
	}
	if _, err := fit(loggedIn(t, srv), redis.Options{Acknowledge: 1}); err != nil {
		t.Error(err)
	}
	if n := admin.DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d keys are left", n)
	}
	c := startCluster(t)
	if known, err := fit(c, redis.Options{}); err != nil || !known {
		t.Errorf("a Cluster: %v, and the eviction policy is known: %t", err, known)
	}
	must(t, c.ForEachMaster(t.Context(), func(ctx context.Context, n *goredis.Client) error {
		if size := n.DBSize(ctx).Val(); size != 0 {
			t.Errorf("%d keys are left", size)
		}
		return nil
	}))
}

func words(rules string) (out []any) {
	for _, w := range strings.Fields(rules) {
		out = append(out, w)
	}
	return out
}
