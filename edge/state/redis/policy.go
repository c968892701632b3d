package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

const policyName = "maxmemory-policy"

// checkPolicy returns an error for a Redis that would evict state. known is false if the policy
// cannot be queried, as in many managed services.
func (r *Replica) checkPolicy(ctx context.Context) (known bool, err error) {
	var silent atomic.Bool
	check := func(ctx context.Context, c redis.Cmdable) error {
		got, err := c.ConfigGet(ctx, policyName).Result()
		var refused redis.Error
		switch {
		case err == nil && len(got) == 0, errors.As(err, &refused) && forbidden(err):
			silent.Store(true)
		case err != nil:
			return unavailable(ctx, err)
		case got[policyName] != "noeviction":
			return fmt.Errorf("the Redis setting %s is %q, with which Redis drops sessions when its memory is full: set it to \"noeviction\"",
				policyName, got[policyName])
		}
		return nil
	}
	if cluster, ok := r.client.(*redis.ClusterClient); ok {
		err = cluster.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error { return check(ctx, c) })
	} else {
		err = check(ctx, r.client)
	}
	return !silent.Load(), err
}

// forbidden reports whether the server does not allow or know CONFIG.
func forbidden(err error) bool {
	text := strings.ToLower(err.Error())
	return strings.HasPrefix(text, "noperm") || strings.HasPrefix(text, "err unknown") || strings.Contains(text, "not allowed")
}
