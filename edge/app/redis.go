package app

import (
	"context"
	"crypto/rand"
	"log/slog"
	"time"

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
		accounts := memory.WithAccounts(new(memory.Accounts))
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
	redis.SetLogger(log.With("component", "redis"))
	r, err := openRedis(cfg, log, t.RedisCalled)
	if err != nil {
		return nil, err
	}
	return &durable{
		media:  r.Media,
		shared: shared{relay: r.Relay, quotas: r.Quotas, proofs: r.Proofs, confirmations: r.Confirmations, ended: r.Ended, names: r.Names, disabled: r.Disabled},
		state:  func() admin.State { return redisState(r.Stats()) },
		dropped: func() uint64 {
			sessions, _ := r.Stats()
			return sessions.Dropped
		},
	}, nil
}

// openRedis makes the state on the configured Redis. observe may be nil.
func openRedis(cfg config.Config, log *slog.Logger, observe redis.Observe) (*redis.Opened, error) {
	kind, url, err := cfg.RedisURL()
	if err != nil {
		return nil, err
	}
	keys, err := cfg.Keys()
	if err != nil {
		return nil, err
	}
	sessions := redis.Options{
		Limits: stateLimits(&cfg), Replica: cfg.ReplicaName(), Prefix: cfg.Redis.Prefix, AcknowledgeUsed: cfg.Redis.Acknowledge, Keys: keys,
		Logger: log.With("store", "sessions"),
	}
	tasks := redis.Options{
		Limits: taskLimits(&cfg), Replica: cfg.ReplicaName(), Prefix: cfg.Redis.Prefix + ":task", Accounts: cfg.Redis.Prefix,
		Acknowledge: cfg.Redis.Acknowledge, Keys: keys, Logger: log.With("store", "tasks"),
	}
	return redis.Open(redisKinds[kind], url, observe, sessions, tasks)
}

var redisKinds = map[string]redis.Kind{config.RedisSingle: redis.Single, config.RedisCluster: redis.Cluster, config.RedisSentinel: redis.Sentinel}

// inMemory has nothing to start and no key to share.
type inMemory struct{ medium, tasks *memory.Medium }

func (m inMemory) Store(h medium.Hooks) medium.Store    { return m.medium.Store(rand.Text(), h) }
func (m inMemory) Tasks(h medium.Hooks) medium.Store    { return m.tasks.Store(rand.Text(), h) }
func (inMemory) Start(context.Context) error            { return nil }
func (inMemory) Secret(context.Context) ([]byte, error) { return nil, nil }
func (inMemory) Close() error                           { return nil }

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
