package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/mcpedge/mcpedge/edge/admin"
	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/state/memory"
	"github.com/mcpedge/mcpedge/edge/state/redis"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// newDurable makes the configured medium. It does not connect.
func newDurable(cfg config.Config, log *slog.Logger, t *telemetry.Telemetry, b *budget.Budget) (*durable, error) {
	if cfg.Redis.URL == "" {
		accounts := memory.WithAccounts(memory.NewAccounts())
		m := inMemory{
			memory.New(stateLimits(&cfg), memory.WithBudget(b), accounts), memory.New(taskLimits(&cfg), memory.WithCharges(b), accounts),
		}
		since := time.Now()
		return &durable{
			media:   m,
			state:   func() admin.State { return admin.State{Kind: admin.StateMemory, Reachable: true, Since: since} },
			dropped: func() uint64 { return m.medium.Stats().Dropped },
		}, nil
	}
	client, err := redisClient(cfg)
	if err != nil {
		return nil, err
	}
	client.AddHook(redisHook{t})
	goredis.SetLogger(redisLogger{log.With("component", "redis")})
	r, tasks, err := redisReplicas(cfg, client, log)
	if err != nil {
		return nil, err
	}
	return &durable{
		media:   &inRedis{sessions: r, tasks: tasks, client: client},
		shared:  shared{relay: r.Relay(), quotas: r.Quotas(), proofs: r.Proofs(), confirmations: r.Confirmations(), ended: r.Ended(), names: r.Names(), disabled: r.Disabled()},
		state:   func() admin.State { return redisState(r.Stats(), tasks.Stats()) },
		dropped: func() uint64 { return r.Stats().Dropped },
	}, nil
}

// redisReplicas makes the incarnations of sessions and of tasks.
func redisReplicas(cfg config.Config, client goredis.UniversalClient, log *slog.Logger) (sessions, tasks *redis.Replica, err error) {
	keys, err := cfg.Keys()
	if err != nil {
		return nil, nil, err
	}
	o := redis.Options{
		Limits: stateLimits(&cfg), Replica: cfg.ReplicaName(), Prefix: cfg.Redis.Prefix, AcknowledgeUsed: cfg.Redis.Acknowledge, Keys: keys,
		Logger: log.With("store", "sessions"),
	}
	if sessions, err = redis.New(client, o); err != nil {
		return nil, nil, err
	}
	o.Logger = log.With("store", "tasks")
	o.Limits, o.Prefix, o.Accounts, o.Acknowledge = taskLimits(&cfg), cfg.Redis.Prefix+":task", cfg.Redis.Prefix, cfg.Redis.Acknowledge
	o.AcknowledgeUsed = 0
	tasks, err = redis.New(client, o)
	return sessions, tasks, err
}

// inMemory has nothing to start and no key to share.
type inMemory struct{ medium, tasks *memory.Medium }

func (m inMemory) Store(h medium.Hooks) medium.Store    { return m.medium.Store(rand.Text(), h) }
func (m inMemory) Tasks(h medium.Hooks) medium.Store    { return m.tasks.Store(rand.Text(), h) }
func (inMemory) Start(context.Context) error            { return nil }
func (inMemory) Secret(context.Context) ([]byte, error) { return nil, nil }
func (inMemory) Close() error                           { return nil }

// inRedis owns its client.
type inRedis struct {
	sessions, tasks *redis.Replica
	client          goredis.UniversalClient
	// started has the replicas that Start has started.
	started map[*redis.Replica]bool
}

func (m *inRedis) Store(h medium.Hooks) medium.Store { return m.sessions.Store(h) }
func (m *inRedis) Tasks(h medium.Hooks) medium.Store { return m.tasks.Store(h) }

// Start starts both replicas; after an error it may be called again.
// Also after success it may, since what is read next may fail. It must not be called concurrently.
func (m *inRedis) Start(ctx context.Context) error {
	for _, r := range []*redis.Replica{m.sessions, m.tasks} {
		if m.started[r] {
			continue
		}
		if err := r.Start(ctx); err != nil {
			return err
		}
		if m.started == nil {
			m.started = map[*redis.Replica]bool{}
		}
		m.started[r] = true
	}
	return nil
}

func (m *inRedis) Secret(ctx context.Context) ([]byte, error) { return m.sessions.Secret(ctx) }

func (m *inRedis) Close() error {
	err := errors.Join(m.tasks.Close(), m.sessions.Close())
	if e := m.client.Close(); err == nil {
		err = e
	}
	return err
}

// redisState returns the state of a Redis that two replicas use: reachable since both reach it, or
// not since the first does not.
func redisState(one, other redis.Stats) admin.State {
	out := admin.State{Kind: admin.StateRedis, Reachable: one.Healthy && other.Healthy, Since: one.Since}
	switch {
	case one.Healthy && !other.Healthy,
		one.Healthy && other.Since.After(one.Since),
		!one.Healthy && !other.Healthy && other.Since.Before(one.Since):
		out.Since = other.Since
	}
	if out.Err = one.Err; out.Err == nil {
		out.Err = other.Err
	}
	return out
}

// Redis answers in well under a millisecond; longer waits than these mean a failure and only delay
// requests. Each can be set in the URL by its go-redis name.
const (
	redisDial = time.Second
	redisIO   = time.Second
	redisPool = time.Second
	// redisConns bounds the connections to one server; an operation that needs another waits, at
	// most redisPool.
	redisConns = 64
	// redisRetries is how often a command is sent again after a broken connection. Every script is
	// safe to repeat.
	redisRetries = 1
)

// redisClient makes the client for the URL.
func redisClient(cfg config.Config) (goredis.UniversalClient, error) {
	kind, url, err := cfg.RedisURL()
	if err != nil {
		return nil, err
	}
	switch kind {
	case config.RedisCluster:
		o, err := goredis.ParseClusterURL(url)
		if err != nil {
			return nil, optionError(err)
		}
		bounds{&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout, &o.PoolTimeout, &o.PoolSize, &o.MaxRetries}.set()
		o.DialerRetries, o.ContextTimeoutEnabled = 1, true
		// Heartbeats must be read where they are written.
		o.ReadOnly, o.RouteByLatency, o.RouteRandomly = false, false, false
		o.MaintNotificationsConfig = noNotifications()
		return goredis.NewClusterClient(o), nil
	case config.RedisSentinel:
		o, err := goredis.ParseFailoverURL(url)
		if err != nil {
			return nil, optionError(err)
		}
		bounds{&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout, &o.PoolTimeout, &o.PoolSize, &o.MaxRetries}.set()
		o.DialerRetries, o.ContextTimeoutEnabled = 1, true
		o.ReplicaOnly, o.RouteByLatency, o.RouteRandomly = false, false, false
		return goredis.NewFailoverClient(o), nil
	}
	o, err := goredis.ParseURL(url)
	if err != nil {
		return nil, optionError(err)
	}
	bounds{&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout, &o.PoolTimeout, &o.PoolSize, &o.MaxRetries}.set()
	o.DialerRetries, o.ContextTimeoutEnabled = 1, true
	o.MaintNotificationsConfig = noNotifications()
	return goredis.NewClient(o), nil
}

// bounds are the client options for which the edge has its own defaults.
type bounds struct {
	dial, read, write, pool *time.Duration
	conns, retries          *int
}

func (b bounds) set() {
	*b.dial, *b.read, *b.write = cmp.Or(*b.dial, redisDial), cmp.Or(*b.read, redisIO), cmp.Or(*b.write, redisIO)
	*b.pool, *b.conns, *b.retries = cmp.Or(*b.pool, redisPool), cmp.Or(*b.conns, redisConns), cmp.Or(*b.retries, redisRetries)
}

// noNotifications disables a feature of one vendor's servers.
func noNotifications() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// redisLogger logs go-redis' own lines at level debug: the callers log what matters of it.
type redisLogger struct{ log *slog.Logger }

// Printf implements go-redis' logging interface.
func (l redisLogger) Printf(ctx context.Context, format string, args ...any) {
	if l.log.Enabled(ctx, slog.LevelDebug) {
		l.log.DebugContext(ctx, fmt.Sprintf(format, args...))
	}
}
