package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// fitLife is the lifetime of a key of Fit that cannot be deleted.
	fitLife = 10 * time.Second
	// fitTries bounds the keys that are drawn to find one of each master of a Cluster.
	fitTries = 256
)

var fitScript = compile("fit")

// Fit returns nil if Redis can keep state: it evicts nothing, and its user has the rights of a
// replica to keys and channels under the prefix. Otherwise the error is state.ErrUnavailable with
// Redis's reply, or with what the eviction policy would drop. known is false if Redis does not
// report its eviction policy. Fit leaves nothing in Redis, and may be called before or without
// Start.
func (r *Replica) Fit(ctx context.Context) (known bool, err error) {
	if known, err = r.checkPolicy(ctx); err != nil {
		return known, err
	}
	keys, err := r.fitKeys(ctx)
	if err != nil {
		return known, unavailable(ctx, err)
	}
	for _, key := range keys {
		if err := r.tryKey(ctx, key); err != nil {
			return known, unavailable(ctx, err)
		}
	}
	return known, r.tryChannels(ctx)
}

// Followers returns the number of replicas of a Redis server, at most most. It waits at most
// ackTime for that many. In a Cluster it is the minimum over all masters.
func (r *Replica) Followers(ctx context.Context, most int) (int, error) {
	var mu sync.Mutex
	fewest := int64(most)
	err := r.eachMaster(ctx, func(ctx context.Context, c *redis.Client) error {
		n, err := c.Do(ctx, "wait", most, ackTime.Milliseconds()).Int64()
		mu.Lock()
		defer mu.Unlock()
		fewest = min(fewest, n)
		return err
	})
	if err != nil {
		return 0, unavailable(ctx, err)
	}
	return int(fewest), nil
}

// eachMaster calls fn for the one server, or for all masters of a Cluster at once.
func (r *Replica) eachMaster(ctx context.Context, fn func(context.Context, *redis.Client) error) error {
	if r.cluster != nil {
		return r.cluster.ForEachMaster(ctx, fn)
	}
	return fn(ctx, r.single)
}

// fitKeys returns keys that nothing else uses: those of a session and of the heartbeat and, of a
// Cluster, a session's on each master.
func (r *Replica) fitKeys(ctx context.Context) ([]string, error) {
	keys := []string{r.heartbeat(r.id)}
	if r.cluster == nil {
		return append(keys, r.session(rand.Text())), nil
	}
	masters := map[string]bool{}
	for range fitTries {
		key := r.session(rand.Text())
		node, err := r.cluster.MasterForKey(ctx, key)
		if err != nil {
			return nil, err
		}
		if addr := node.Options().Addr; !masters[addr] {
			masters[addr] = true
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// tryKey uses a key in all ways in which a replica does: alone, in a script and in a transaction.
// It then deletes the key.
func (r *Replica) tryKey(ctx context.Context, key string) error {
	if err := r.client.Set(ctx, key, r.id, fitLife).Err(); err != nil {
		return err
	}
	if err := r.client.Del(ctx, key).Err(); err != nil {
		return err
	}
	if err := fitScript.Run(ctx, r.client, []string{key}, r.inboxOf(r.id), fitLife.Milliseconds()).Err(); err != nil {
		return err
	}
	_, err := r.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.HSet(ctx, key, "field", r.id)
		p.Del(ctx, key)
		return nil
	})
	if err == nil && (r.acks != nil || r.usedAcks != nil) {
		err = r.client.Do(ctx, "wait", 0, 1).Err()
	}
	return err
}

// tryChannels opens the channels of a replica, sends itself a message and closes them.
func (r *Replica) tryChannels(ctx context.Context) error {
	ps, err := r.subscribe(ctx)
	if err != nil {
		return err
	}
	defer ps.Close()
	if err := r.client.Publish(ctx, r.inboxOf(r.id), "").Err(); err != nil {
		return unavailable(ctx, err)
	}
	if _, err := ps.ReceiveMessage(ctx); err != nil {
		return unavailable(ctx, err)
	}
	return nil
}

const policyName = "maxmemory-policy"

// checkPolicy returns an error for a Redis that would evict state. known is false if the policy
// cannot be queried, as in many managed services.
func (r *Replica) checkPolicy(ctx context.Context) (known bool, err error) {
	var silent atomic.Bool
	err = r.eachMaster(ctx, func(ctx context.Context, c *redis.Client) error {
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
	})
	return !silent.Load(), err
}

// forbidden reports whether the server does not allow or know CONFIG.
func forbidden(err error) bool {
	text := strings.ToLower(err.Error())
	return strings.HasPrefix(text, "noperm") || strings.HasPrefix(text, "err unknown") || strings.Contains(text, "not allowed")
}
