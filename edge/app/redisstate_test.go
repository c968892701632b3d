package app

import (
	"errors"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/state/redis"
)

// Redis is reached since both replicas reach it, and not since the first does not.
func TestRedisState(t *testing.T) {
	at := func(healthy bool, second int64) redis.Stats {
		return redis.Stats{Healthy: healthy, Since: time.Unix(second, 0)}
	}
	for _, c := range []struct {
		one, other redis.Stats
		reachable  bool
		since      int64
	}{
		{at(true, 1), at(true, 2), true, 2},
		{at(true, 2), at(true, 1), true, 2},
		{at(false, 1), at(true, 2), false, 1},
		{at(true, 1), at(false, 2), false, 2},
		{at(true, 2), at(false, 1), false, 1},
		{at(false, 2), at(false, 1), false, 1},
		{at(false, 1), at(false, 2), false, 1},
	} {
		for _, got := range []struct {
			reachable bool
			since     time.Time
		}{
			{redisState(c.one, c.other).Reachable, redisState(c.one, c.other).Since},
			{redisState(c.other, c.one).Reachable, redisState(c.other, c.one).Since},
		} {
			if got.reachable != c.reachable || got.since.Unix() != c.since {
				t.Errorf("%+v, %+v: reachable %t since %d", c.one, c.other, got.reachable, got.since.Unix())
			}
		}
	}
}

// The state has the cause of a store that is not reached, that of sessions first.
func TestRedisStateHasTheCause(t *testing.T) {
	well, refused, full := redis.Stats{Healthy: true}, redis.Stats{Err: errors.New("refused")}, redis.Stats{Err: errors.New("full")}
	for _, c := range []struct {
		one, other redis.Stats
		want       error
	}{{well, well, nil}, {refused, well, refused.Err}, {well, full, full.Err}, {refused, full, refused.Err}, {redis.Stats{}, full, full.Err}} {
		if got := redisState(c.one, c.other).Err; got != c.want {
			t.Errorf("%v, %v: %v", c.one.Err, c.other.Err, got)
		}
	}
}
