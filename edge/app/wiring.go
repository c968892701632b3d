package app

import (
	"cmp"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/edge/auth"
	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/catalog"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/dispatch"
	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/era/stateful"
	"github.com/mcpedge/mcpedge/edge/era/stateless"
	"github.com/mcpedge/mcpedge/edge/ownership"
	"github.com/mcpedge/mcpedge/edge/reflect"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/tasks"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// New wires an edge by its settings. It does not listen or connect.
func New(cfg config.Config, log *slog.Logger, options ...Option) (*App, error) {
	a := &App{cfg: cfg, log: log, started: time.Now(), leaving: make(chan struct{}), endQuotas: func() {}}
	a.leave = sync.OnceFunc(func() { close(a.leaving) })
	for _, o := range options {
		o(a)
	}
	a.notReady("starting")
	logGRPC(log)
	warnOfSettings(cfg, log)
	proxies, err := cfg.Proxies()
	if err != nil {
		return nil, err
	}
	a.proxies = proxies
	if a.telemetry == nil {
		if a.telemetry, err = Telemetry(cfg, log, a.dev); err != nil {
			return nil, err
		}
	}
	if a.auth, err = newAuth(&a.cfg, a.proxies, func() auth.Proofs { return a.durable.proofs }, log, a.telemetry); err != nil {
		return nil, err
	}
	if err := a.tls.listeners(cfg, log); err != nil {
		return nil, err
	}
	if err = a.openIdentity(); err != nil {
		return nil, err
	}
	a.learned = reflect.NewMemory(int64(cfg.Memory) / 4)
	if a.pool, err = newPool(cfg, log, a.telemetry, &a.tls, a.identityOf, a.learned); err != nil {
		return nil, err
	}
	if err := a.openCluster(); err != nil {
		return nil, err
	}
	a.memory = budget.New(int64(cfg.Memory) / 2)
	a.memory.OnFull(a.reportFull)
	if a.durable, err = newDurable(cfg, log, a.telemetry, a.memory); err != nil {
		return nil, err
	}
	a.newCuration()
	if a.quotas, err = a.newQuotas(); err != nil {
		return nil, err
	}
	o := dispatch.Options{Catalog: served(cfg), ArgumentValues: cfg.Limits.ArgumentValues, Logger: log, Telemetry: a.telemetry}
	if a.audit, err = a.newAudit(); err != nil {
		return nil, err
	}
	if err := a.newControl(); err != nil {
		return nil, err
	}
	a.newReread()
	if a.quotas != nil || a.audit != nil || a.access.Policy() != nil {
		o.Access = a.access
	}
	a.names = ownership.New(ownership.Options{Store: a.durable.names, Bytes: int(cfg.Limits.NameBytes), Logger: log})
	o.Catalog.Names = a.names
	a.dispatch = dispatch.New(a.pool, o)
	open := func(h medium.Hooks) medium.Store {
		a.store = a.durable.Store(h)
		return a.store
	}
	a.tasks = tasks.New(a.dispatch, a.durable.Tasks, tasks.Options{
		Challenges: a.access.Challenges,
		Grace:      cfg.Limits.TaskGrace, Lifetime: cfg.Limits.TaskLifetime, TTL: cfg.Limits.TaskTTL, Poll: cfg.Limits.TaskPoll,
		Polls: cfg.Limits.TaskPolls, PageSize: cfg.Limits.PageSize, MaxRunning: cfg.Limits.RunningTasks, MaxRunningPerPrincipal: cfg.Limits.RunningTasksPerPrincipal,
		MaxRounds: cfg.Limits.Rounds, MaxAttempts: cfg.Limits.Attempts, Heartbeat: min(cfg.Limits.Lease/4, time.Second),
		Replica: cfg.ReplicaName(), Recent: devTasks(a.dev), Memory: a.memory, Logger: log, Telemetry: a.telemetry,
	})
	a.stateful = stateful.New(a.tasks, open, stateful.Options{
		Challenges:  a.access.Challenges,
		StreamAfter: cfg.Limits.StreamAfter, KeepAlive: cfg.Limits.KeepAlive,
		SessionStale: cfg.Limits.SessionStale, MaxRounds: cfg.Limits.Rounds,
		CallLifetime: cfg.Limits.CallLifetime, MaxAttempts: cfg.Limits.Attempts, MaxCallsPerSession: cfg.Limits.CallsPerSession,
		Heartbeat: min(cfg.Limits.Lease/4, time.Second), SessionTTL: cfg.Limits.SessionTTL,
		MaxSessionsPerAddress: cmp.Or(cfg.Limits.SessionsPerAddress, max(minSessionsPerAddress, cfg.Limits.SessionsPerPrincipal/2)),
		Memory:                a.memory, ChargeCopies: cfg.Redis != "",
		Logger: log, Telemetry: a.telemetry,
	})
	keys, err := cfg.Keys()
	if err != nil {
		return nil, err
	}
	a.stateless, err = stateless.New(a.tasks, stateless.Options{
		Keys: keys, MaxRounds: cfg.Limits.Rounds, CallLifetime: cfg.Limits.CallLifetime,
		StreamAfter: cfg.Limits.StreamAfter, KeepAlive: cfg.Limits.KeepAlive, MaxListens: cfg.Limits.ListensPerPrincipal,
		MaxListenBytes:   int(cfg.Limits.ListenBytes),
		MaxSubscriptions: cfg.Limits.Subscriptions, Logger: log, Telemetry: a.telemetry,
	})
	if err != nil {
		return nil, err
	}
	if err := a.observe(); err != nil {
		return nil, err
	}
	a.servers(&era.Router{Stateless: a.stateless, Stateful: a.stateful, MaxBatch: cfg.Limits.Batch, Telemetry: a.telemetry})
	return a, nil
}

// minSessionsPerAddress is the lowest default for the sessions that one address may begin: the
// allowance does not refill when sessions end, but over their TTL.
const minSessionsPerAddress = 100

// served returns the settings of what is served, without those for observation.
func served(cfg config.Config) catalog.Options {
	return catalog.Options{
		Name: cfg.Server.Name, Title: cfg.Server.Title, Version: Version(),
		Overlay: cfg.Overlay(), PageSize: cfg.Limits.PageSize, PageBytes: int(cfg.Limits.PageBytes), WatchedURIs: cfg.Limits.Subscriptions,
	}
}

// newPool makes the pool of the configured backends; it connects in Start. t may be nil. learned bounds what is learned of services; nil does not.
func newPool(cfg config.Config, log *slog.Logger, t *telemetry.Telemetry, e *ends, with identities, learned *reflect.Memory) (*backend.Pool, error) {
	backends, err := e.backends(cfg, log, with, learned)
	if err != nil {
		return nil, err
	}
	o := backend.Options{Logger: log}
	if t.Tracing() {
		o.Tracing = t
	}
	return backend.NewPool(backends, o)
}

// Backends converts the settings of the backends for the pool, and reads certificates. log is for
// the adapters of backends without the contract.
func Backends(cfg config.Config, log *slog.Logger) ([]backend.Config, error) {
	with, err := signing(&cfg, log)
	if err != nil {
		return nil, err
	}
	return new(ends).backends(cfg, log, with, nil)
}

// backends is Backends with the given identities; it adds the certificates to the TLS endpoints.
func (e *ends) backends(cfg config.Config, log *slog.Logger, with identities, learned *reflect.Memory) ([]backend.Config, error) {
	var out []backend.Config
	for _, b := range cfg.Backends {
		c := backend.Config{
			Name: b.Name, Target: b.Target, Prefix: b.Prefix, URIs: b.URIs, Timeout: b.Timeout,
			MaxConcurrent: b.MaxConcurrent, MaxMessageBytes: int(b.MaxMessage),
			Refresh: b.Refresh, Resolve: b.Resolve, StaleAfter: b.StaleAfter, OwnLists: b.OwnLists, Claims: b.Claims, Extensions: b.Extensions,
			FullSchemas: cfg.FullSchemas(&b),
		}
		if o := b.Outliers; o != nil {
			c.Outliers = &backend.Outliers{
				Interval: o.Interval, Ejection: o.Ejection, Failures: o.Failures, Calls: o.Calls, MaxEjected: o.MaxEjected,
			}
		}
		if b.Health != nil {
			if c.Health = b.Health.Service; c.Health == config.HealthOff {
				c.Health = backend.HealthOff
			}
		}
		if who := with(&b); who != nil {
			c.Identity = who
		}
		if err := told(&c, &b, log); err != nil {
			return nil, err
		}
		if b.TLS != nil {
			creds, err := e.backend(&b, log)
			if err != nil {
				return nil, err
			}
			c.Credentials = creds
		}
		if b.Kind == config.KindReflect {
			c.Adapt = reflected(b, learned, log)
		}
		out = append(out, c)
	}
	return out, nil
}
