package redis_test

import (
	"testing"

	"github.com/mcpedge/mcpedge/edge/state/redis"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// Media that were started can be started again, because what is read after the start may fail.
func TestStartAgain(t *testing.T) {
	o, err := redis.Open(redis.Single, redisserver.ForTest(t).URL(), nil, redis.Options{Prefix: "mcpedge"}, redis.Options{Prefix: "mcpedge:task", Accounts: "mcpedge"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := o.Media.Start(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := o.Media.Close(); err != nil {
		t.Error(err)
	}
}
