package redis_test

import (
	"maps"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/ownership"
	"github.com/mcpedge/mcpedge/edge/state/redis"
)

// What one replica writes the others read, and a dropped name leaves nothing.
func TestNames(t *testing.T) {
	t.Parallel()
	for _, client := range map[string]goredis.UniversalClient{"one server": connect(t, startServer(t)), "a cluster": startCluster(t)} {
		var tables [2]*redis.Table
		for i := range tables {
			r, err := redis.New(client, redis.Options{})
			must(t, err)
			must(t, r.Start(t.Context()))
			t.Cleanup(func() { _ = r.Close() })
			tables[i] = r.Names()
		}
		v := ownership.Value{Digest: "d1", Bytes: []byte(`{"a":1}`)}
		must(t, tables[0].Write(t.Context(), map[string]ownership.Value{"a": v, "": {Digest: "d2", Bytes: []byte("[]")}}, nil))
		digests, err := tables[1].Digests(t.Context())
		if must(t, err); !maps.Equal(digests, map[string]string{"a": "d1", "": "d2"}) {
			t.Errorf("got %v", digests)
		}
		values, err := tables[1].Values(t.Context(), []string{"a", "b"})
		if must(t, err); len(values) != 1 || string(values["a"]) != `{"a":1}` {
			t.Errorf("got %q", values)
		}
		must(t, tables[1].Write(t.Context(), nil, []string{"a"}))
		if digests, err = tables[0].Digests(t.Context()); err != nil || len(digests) != 1 {
			t.Errorf("after a drop: %v, %v", digests, err)
		}
		if values, err = tables[0].Values(t.Context(), []string{"a"}); err != nil || len(values) != 0 {
			t.Errorf("after a drop: %q, %v", values, err)
		}
	}
}
