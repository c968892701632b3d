package app

import (
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/state/redis"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// A medium that was started can be started again, because what is read after the start may fail.
func TestStartAgain(t *testing.T) {
	o, err := goredis.ParseURL(redisserver.ForTest(t).URL())
	if err != nil {
		t.Fatal(err)
	}
	client := goredis.NewClient(o)
	m := &inRedis{client: client}
	for replica, prefix := range map[**redis.Replica]string{&m.sessions: "mcpedge", &m.tasks: "mcpedge:task"} {
		if *replica, err = redis.New(client, redis.Options{Prefix: prefix}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := m.Start(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}
