package redis_test

import (
	"log/slog"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/state/redis"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// TestRedisThatCameBackEmpty: a Redis that returns without its state is logged once. One that kept
// its state is not.
func TestRedisThatCameBackEmpty(t *testing.T) {
	t.Parallel()
	var log lines
	srv := redisserver.ForTest(t)
	p, admin := startProxy(t, srv.Addr), connect(t, srv.Addr)
	c := goredis.NewClient(eager(p))
	t.Cleanup(func() { _ = c.Close() })
	r := start(t, c, redis.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if _, err := r.Secret(t.Context()); err != nil {
		t.Fatal(err)
	}
	const back, empty = "Redis can be used again", "Redis has lost its data, or is another, empty Redis"
	outage := func(meanwhile func()) {
		t.Helper()
		before := log.count(back)
		p.refuse(true)
		await.Until(t, "Redis is found not to answer", func() bool { _, _ = r.Load(t.Context(), "s", true); return !r.Stats().Healthy })
		meanwhile()
		p.refuse(false)
		await.Until(t, "Redis can be used", func() bool { return beat(t, r) == nil && log.count(back) > before })
	}
	outage(func() {})
	if log.count(empty) != 0 {
		t.Errorf("it kept its keys:\n%s", &log)
	}
	outage(func() { must(t, admin.FlushAll(t.Context()).Err()) })
	await.Until(t, "the log to say that it came back empty", func() bool { return beat(t, r) == nil && log.count(empty) == 1 })
}

// TestSecretIsRestoredLater: a secret that could not be stored when Redis came back empty is stored
// with a later heartbeat.
func TestSecretIsRestoredLater(t *testing.T) {
	t.Parallel()
	var log lines
	srv := redisserver.ForTest(t)
	p, admin := startProxy(t, srv.Addr), connect(t, srv.Addr)
	must(t, admin.Do(t.Context(), "ACL", "SETUSER", "edge", "on", "nopass", "+@all", "~*", "&*").Err())
	options := eager(p)
	options.Username, options.Password = "edge", "any"
	c := goredis.NewClient(options)
	t.Cleanup(func() { _ = c.Close() })
	r := start(t, c, redis.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	secret, err := r.Secret(t.Context())
	must(t, err)
	const empty = "Redis has lost its data, or is another, empty Redis"
	p.refuse(true)
	await.Until(t, "Redis is found not to answer", func() bool { return beat(t, r) != nil && !r.Stats().Healthy })
	must(t, admin.FlushAll(t.Context()).Err())
	must(t, admin.Do(t.Context(), "ACL", "SETUSER", "edge", "resetkeys", "~mcpedge:r:*").Err())
	p.refuse(false)
	refused := func() bool { return strings.Contains(admin.Do(t.Context(), "ACL", "LOG").String(), "mcpedge:secret") }
	await.Until(t, "the secret to be refused", func() bool { return beat(t, r) == nil && refused() })
	if log.count(empty) != 0 {
		t.Errorf("nothing could be found out yet:\n%s", &log)
	}
	must(t, admin.Do(t.Context(), "ACL", "SETUSER", "edge", "allkeys").Err())
	await.Until(t, "the log to say that it came back empty", func() bool { return beat(t, r) == nil && log.count(empty) == 1 })
	if kept, err := admin.Get(t.Context(), "mcpedge:secret").Result(); kept != string(secret) {
		t.Errorf("the secret in Redis is %x (%v), want %x", kept, err, secret)
	}
}
