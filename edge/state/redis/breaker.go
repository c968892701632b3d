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

// breakers are the breakers of all servers: one, or in a Cluster one for each master. stop ends
// probes.
type breakers struct {
	one     breaker
	cluster *redis.ClusterClient // nil: there is one server

	mu      sync.Mutex
	nodes   map[string]*breaker // by address, those that ever failed
	stopped bool
	stop    chan struct{}
	probes  sync.WaitGroup

	trips, rejected atomic.Uint64
}

func (x *breakers) init(client redis.UniversalClient) {
	x.cluster, _ = client.(*redis.ClusterClient)
	x.nodes, x.stop = make(map[string]*breaker), make(chan struct{})
}

// errBreakerOpen is the error while a breaker is open.
var errBreakerOpen = fmt.Errorf("the Redis server failed %d times in a row; requests resume once it answers a probe", tripAfter)

// server is the breaker of a server and the function that probes it.
type server struct {
	*breaker
	probe func(context.Context) error
}

// of returns the server with a key. Without a key, as for commands to many servers of a Cluster, it
// returns one without a breaker.
func (x *breakers) of(ctx context.Context, client redis.UniversalClient, key string) server {
	switch {
	case x.cluster == nil:
		return server{&x.one, func(ctx context.Context) error { return client.Ping(ctx).Err() }}
	case key == "":
		return server{}
	}
	node, err := x.cluster.MasterForKey(ctx, key)
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
	return server{b, func(ctx context.Context) error { return node.Ping(ctx).Err() }}
}

// send runs one exchange with the server that has the key, unless its breaker is open. The error is
// the client library's, or errBreakerOpen.
func (r *Replica) send(ctx context.Context, key string, exchange func() error) error {
	s := r.breakers.of(ctx, r.client, key)
	if s.breaker != nil && s.open.Load() {
		r.breakers.rejected.Add(1)
		return errBreakerOpen
	}
	began := time.Now()
	err := exchange()
	if outage(ctx, err, time.Since(began)) {
		r.failed(s, err)
	} else if err == nil && s.breaker != nil && s.failures.Load() != 0 {
		s.failures.Store(0)
	}
	return err
}

// failed records an exchange that a server did not answer.
func (r *Replica) failed(s server, err error) {
	// The next to answer may be another server, or the same one without its last writes.
	r.forget()
	if s.breaker != nil && s.failures.Add(1) >= tripAfter && s.open.CompareAndSwap(false, true) {
		r.tripped(s, err)
	}
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

// tripped starts the probes of a server.
func (r *Replica) tripped(s server, err error) {
	x := &r.breakers
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.stopped {
		return
	}
	r.health.breakerOpened(unavailable(context.Background(), err))
	x.trips.Add(1)
	r.log.Warn("Redis does not answer; until it does, operations that need the state fail at once", "error", err)
	x.probes.Go(func() { r.probe(s) })
}

// probe closes the breaker when the server answers.
func (r *Replica) probe(s server) {
	t := time.NewTimer(probeFirst)
	defer t.Stop()
	for pause := probeFirst; ; pause = min(2*pause, probeLast) {
		t.Reset(pause)
		select {
		case <-t.C:
		case <-r.breakers.stop:
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), probeTime)
		err := s.probe(ctx)
		cancel()
		var reply redis.Error
		if err == nil || errors.As(err, &reply) || errors.Is(err, redis.ErrClosed) {
			break
		}
	}
	s.failures.Store(0)
	s.open.Store(false)
	r.usableAgain(r.health.breakerClosed())
	r.returned()
}

// usableAgain logs that Redis can be used again, if it can.
func (r *Replica) usableAgain(back bool) {
	if back {
		r.log.Info("Redis can be used again")
	}
}

// end stops the probes and waits for them.
func (x *breakers) end() {
	x.mu.Lock()
	if !x.stopped {
		x.stopped = true
		close(x.stop)
	}
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

// eval runs a script on the server that has the keys.
func (r *Replica) eval(ctx context.Context, s *script, keys []string, args ...any) (v any, err error) {
	err = r.send(ctx, keys[0], func() error {
		v, err = s.Run(ctx, r.client, keys, args...).Result()
		return err
	})
	return v, err
}
