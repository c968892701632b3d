package redis_test

import (
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/catalog/disabled"
	"github.com/mcpedge/mcpedge/edge/ownership"
	"github.com/mcpedge/mcpedge/edge/state/redis"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// An announcement reaches every replica of the prefix, the announcing one included, as the documented user too; and each later
// subscription counts as one, because others may have been missed.
func TestAnnouncements(t *testing.T) {
	t.Parallel()
	addr := startServer(t)
	admin := connect(t, addr)
	single, _ := documentedUser(t)
	must(t, admin.Do(t.Context(), single...).Err())
	heard := make([]chan struct{}, 3)
	tables := make([]*redis.AnnouncedTable, len(heard))
	for i, c := range []*goredis.Client{loggedIn(t, addr), connect(t, addr), connect(t, addr)} {
		o := redis.Options{}
		if i == 2 {
			o.Prefix = "other"
		}
		r, err := redis.New(c, o)
		must(t, err)
		t.Cleanup(func() { _ = r.Close() })
		heard[i], tables[i] = make(chan struct{}, 100), r.Disabled()
		tables[i].OnAnnounced(func() { heard[i] <- struct{}{} })
		must(t, r.Start(t.Context()))
	}
	must(t, tables[0].Write(t.Context(), map[string]ownership.Value{"a": {Digest: "d", Bytes: []byte("v")}}, nil))
	stamp := func(table *redis.AnnouncedTable) {
		t.Helper()
		_, err := table.Stamp(t.Context(), "b", disabled.Unstamped{Head: []byte(`{"at":`), Tail: []byte(`}`), Sum: "s"})
		must(t, err)
	}
	stamp(tables[0])
	for _, ch := range heard[:2] {
		await.Receive(t, "the announcement", ch)
	}
	stamp(tables[2])
	await.Receive(t, "the announcement under the other prefix", heard[2])
	if got, err := tables[1].Digests(t.Context()); err != nil || got["a"] != "d" {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := tables[2].Digests(t.Context()); err != nil || len(got) != 1 || got["a"] != "" {
		t.Errorf("the other prefix has %v, %v", got, err)
	}
	for i := range heard {
		if n := len(heard[i]); n != 0 {
			t.Errorf("replica %d heard %d more", i, n)
		}
	}
	must(t, admin.ClientKillByFilter(t.Context(), "TYPE", "pubsub").Err())
	for i := range heard {
		await.Receive(t, "another subscription", heard[i])
	}
}
