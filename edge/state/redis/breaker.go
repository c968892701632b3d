package redis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// tripAfter is the number of consecutive failures after which a server's breaker opens.
	tripAfter = 3
	// slow is the duration from which an operation that ends with its context counts as a failure
	// of Redis.
	slow = 500 * time.Millisecond
	// probeFirst and probeLast are the first and the longest pause between probes of a server that
	// does not answer.
	probeFirst, probeLast = 20 * time.Millisecond, time.Second
	// probeTime bounds one probe.
	probeTime = time.Second
)

// breaker guards one Redis server. After some consecutive failures it is open: only probes are
// sent, until one is answered.
type breaker struct {
	failures atomic.Int32
	open     atomic.Bool
}

// breakers are the breakers of all servers: one, or in a Cluster one for each master.
type breakers struct {
	one breaker // of the one server

	mu     sync.Mutex
	nodes  map[string]*breaker // by address, those that ever failed
	probes sync.WaitGroup
	life   context.Context // that of the probes
	stop   context.CancelFunc

	trips, rejected atomic.Uint64
}

// errBreakerOpen is the error while a breaker is open.
var errBreakerOpen = fmt.Errorf("the Redis server failed %d times in a row; requests resume once it answers a probe", tripAfter)

// server is a server and its breaker.
type server struct {
	*breaker
	client *redis.Client
}

// serverOf returns the server with a key. Without a key, as for commands to many servers of a Cluster,
// it returns one without a breaker.
func (r *Replica) serverOf(ctx context.Context, key string) server {
	x := &r.breakers
	switch {
	case r.cluster == nil:
		return server{&x.one, r.single}
	case key == "":
		return server{}
	}
	node, err := r.cluster.MasterForKey(ctx, key)
	if err != nil {
		return server{} // The operation will return the reason.
	}
	addr := node.Options().Addr
	x.mu.Lock()
	defer x.mu.Unlock()
	b := x.nodes[addr]
	if b == nil {
		b = new(breaker)
		x.nodes[addr] = b
	}
	return server{b, node}
}

// send runs one exchange with the server that has the key, unless its breaker is open. Its error is that of unavailable.
func (r *Replica) send(ctx context.Context, key string, exchange func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s := r.serverOf(ctx, key)
	if s.breaker != nil && s.open.Load() {
		r.breakers.rejected.Add(1)
		return unavailable(ctx, errBreakerOpen)
	}
	began := time.Now()
	err := exchange()
	if outage(ctx, err, time.Since(began)) {
		r.failed(s, err)
	} else if err == nil && s.breaker != nil && s.failures.Load() != 0 {
		s.failures.Store(0)
	}
	if err != nil {
		return unavailable(ctx, err)
	}
	return nil
}

// outage reports whether an exchange shows that a server does not answer. An error reply is an
// answer.
func outage(ctx context.Context, err error, took time.Duration) bool {
	var reply redis.Error
	switch {
	case err == nil, errors.As(err, &reply), errors.Is(err, redis.ErrClosed), errors.Is(ctx.Err(), context.Canceled):
		return false
	case ended(ctx) != nil:
		return took >= slow
	}
	return true
}

// failed records an exchange that a server did not answer. It starts the probes of the server if its
// breaker opens.
func (r *Replica) failed(s server, err error) {
	// The next to answer may be another server, or the same one without its last writes.
	r.forget()
	if s.breaker == nil || s.failures.Add(1) < tripAfter || !s.open.CompareAndSwap(false, true) {
		return
	}
	x := &r.breakers
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.life.Err() != nil {
		return
	}
	r.health.breakerOpened(unavailable(context.Background(), err))
	x.trips.Add(1)
	r.log.Warn("Redis does not answer; until it does, operations that need the state fail at once", "error", err)
	x.probes.Go(func() { r.probe(s) })
}

// probe closes the breaker when the server answers.
func (r *Replica) probe(s server) {
	for pause := probeFirst; ; pause = min(2*pause, probeLast) {
		select {
		case <-time.After(pause):
		case <-r.breakers.life.Done():
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), probeTime)
		err := s.client.Ping(ctx).Err()
		cancel()
		var reply redis.Error
		if err == nil || errors.As(err, &reply) || errors.Is(err, redis.ErrClosed) {
			break
		}
	}
	s.failures.Store(0)
	s.open.Store(false)
	r.health.breakerClosed()
	r.returned()
}

// end stops the probes and waits for them.
func (x *breakers) end() {
	x.mu.Lock()
	x.stop()
	x.mu.Unlock()
	x.probes.Wait()
}

// pipe sends commands in one round trip. The error is that of the first command that failed.
func (r *Replica) pipe(ctx context.Context, fill func(redis.Pipeliner)) error {
	return r.send(ctx, "", func() error {
		_, err := r.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			fill(p)
			return nil
		})
		return err
	})
}

// exist reports for each of the keys whether it exists.
func (r *Replica) exist(ctx context.Context, keys []string) ([]bool, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	cmds := make([]*redis.IntCmd, len(keys))
	err := r.pipe(ctx, func(p redis.Pipeliner) {
		for i, key := range keys {
			cmds[i] = p.Exists(ctx, key)
		}
	})
	if err != nil {
		return nil, err
	}
	out := make([]bool, len(keys))
	for i, cmd := range cmds {
		out[i] = cmd.Val() > 0
	}
	return out, nil
}

// eval runs a script on the server that has the keys.
func (r *Replica) eval(ctx context.Context, s *script, keys []string, args ...any) (any, error) {
	v, _, err := r.evalAcknowledged(ctx, nil, s, keys, args...)
	return v, err
}
