package redis

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/state"
)

const (
	// ackTime bounds the time in which the Redis replicas must acknowledge a write.
	ackTime = 500 * time.Millisecond
	// maxAcks bounds the writes that wait at a time, each on its own connection, and maxAcksOfOne those
	// for one caller, so that one caller cannot block the others.
	maxAcks, maxAcksOfOne = 16, 8
	// movedTries and movedPause bound the repeated look-ups of a key's node after a Cluster has
	// moved the key.
	movedTries, movedPause = 3, 100 * time.Millisecond
)

// acknowledgements limits the writes that wait for Redis replicas to acknowledge them.
type acknowledgements struct {
	needed int
	turns  chan struct{}

	mu sync.Mutex
	// shares has the turns of each caller that has one or waits for one.
	shares map[string]*ackShare
}

// ackShare has the turns of one caller.
type ackShare struct {
	turns chan struct{}
	// users counts those that hold or wait for one of the turns. Guarded by acknowledgements.mu.
	users int
}

// newAcknowledgements returns nil if no Redis replica is needed.
func newAcknowledgements(needed int) *acknowledgements {
	if needed == 0 {
		return nil
	}
	return &acknowledgements{needed: needed, turns: make(chan struct{}, maxAcks), shares: map[string]*ackShare{}}
}

// enter waits for a turn, at most ackTime. leave ends the turn.
func (a *acknowledgements) enter(ctx context.Context) (leave func(), err error) {
	if err := a.take(ctx, a.turns, time.After(ackTime), "others have"); err != nil {
		return nil, err
	}
	return func() { <-a.turns }, nil
}

// enterFor is enter for a caller. It waits while the caller has maxAcksOfOne turns.
func (a *acknowledgements) enterFor(ctx context.Context, caller string) (leave func(), err error) {
	own, late := a.shareOf(caller), time.After(ackTime)
	if err := a.take(ctx, own.turns, late, "other requests of the caller have"); err != nil {
		a.drop(caller)
		return nil, err
	}
	leaveOwn := func() {
		<-own.turns
		a.drop(caller)
	}
	if err := a.take(ctx, a.turns, late, "others have"); err != nil {
		leaveOwn()
		return nil, err
	}
	return func() {
		<-a.turns
		leaveOwn()
	}, nil
}

// take waits for one of turns until late. who names their holders in the error.
func (a *acknowledgements) take(ctx context.Context, turns chan struct{}, late <-chan time.Time, who string) error {
	select {
	case turns <- struct{}{}:
		return nil
	case <-late:
		return fmt.Errorf("%w: %s waited for the replicas of Redis for %s", state.ErrUnacknowledged, who, ackTime)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// shareOf returns the turns of a caller, until drop.
func (a *acknowledgements) shareOf(caller string) *ackShare {
	a.mu.Lock()
	defer a.mu.Unlock()
	own := a.shares[caller]
	if own == nil {
		own = &ackShare{turns: make(chan struct{}, maxAcksOfOne)}
		a.shares[caller] = own
	}
	own.users++
	return own
}

func (a *acknowledgements) drop(caller string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	own := a.shares[caller]
	if own.users--; own.users == 0 {
		delete(a.shares, caller)
	}
}

// evalAcknowledged runs a script on the server that has the keys and, unless a is nil, waits until the
// Redis replicas have its writes. few is the error if too few of them have these in time; v is then
// valid. The caller must have entered.
func (r *Replica) evalAcknowledged(ctx context.Context, a *acknowledgements, s *script, keys []string, args ...any) (v any, few, err error) {
	var got int64
	began := time.Now()
	err = r.send(ctx, keys[0], func() (err error) {
		if a == nil {
			v, err = s.Run(ctx, r.client, keys, args...).Result()
		} else {
			v, got, err = r.acknowledged(ctx, a, s, keys, args)
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if a != nil && got < int64(a.needed) {
		few = fmt.Errorf("%w: %d of the %d replicas of Redis that redis.acknowledge demands, within %s",
			state.ErrUnacknowledged, got, a.needed, time.Since(began).Round(time.Millisecond))
	}
	return v, few, nil
}

// acknowledged runs a script on the node with the keys. got is the number of the node's replicas
// that have the script's writes. If the slots of a Cluster have just moved, it looks up the node
// again.
func (r *Replica) acknowledged(ctx context.Context, a *acknowledgements, s *script, keys []string, args []any) (v any, got int64, err error) {
	for try := 1; ; try++ {
		var node *redis.Client
		if node, err = r.node(ctx, keys[0]); err != nil {
			return nil, 0, err
		}
		v, got, err = a.exchange(ctx, node, s, keys, args)
		if redis.HasErrorPrefix(err, "NOSCRIPT") {
			if err = s.Load(ctx, node).Err(); err == nil {
				v, got, err = a.exchange(ctx, node, s, keys, args)
			}
		}
		if err != nil && r.cluster != nil {
			r.cluster.ReloadState(ctx)
		}
		moved := redis.HasErrorPrefix(err, "MOVED") || redis.HasErrorPrefix(err, "ASK") || redis.HasErrorPrefix(err, "TRYAGAIN")
		if r.cluster == nil || !moved || try == movedTries {
			return v, got, err
		}
		select {
		case <-time.After(movedPause):
		case <-ctx.Done():
			return v, got, err
		}
	}
}

// node returns the client of the server that has a key.
func (r *Replica) node(ctx context.Context, key string) (*redis.Client, error) {
	if r.cluster != nil {
		return r.cluster.MasterForKey(ctx, key)
	}
	return r.single, nil
}

// exchange sends a script and WAIT over one connection, because WAIT covers the writes of its own
// connection. The error is that of the first command that was refused.
func (a *acknowledgements) exchange(ctx context.Context, node *redis.Client, s *script, keys []string, args []any) (v any, got int64, err error) {
	patience := ackTime
	if read := node.Options().ReadTimeout; read > 0 {
		patience = min(patience, read/2) // WAIT is silent for so long.
	}
	var ran, waited *redis.Cmd
	_, err = node.Pipelined(ctx, func(p redis.Pipeliner) error {
		ran = s.EvalSha(ctx, p, keys, args...)
		waited = p.Do(ctx, "wait", a.needed, patience.Milliseconds()) // Pipeliner has no method for it.
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	got, err = waited.Int64()
	return ran.Val(), got, err
}
