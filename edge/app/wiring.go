package app

import (
	"cmp"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/edge/auth"
	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/catalog"
	"github.com/mcpedge/mcpedge/edge/catalog/disabled"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/dispatch"
	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/era/stateful"
	"github.com/mcpedge/mcpedge/edge/era/stateless"
	"github.com/mcpedge/mcpedge/edge/ownership"
	"github.com/mcpedge/mcpedge/edge/redact"
	"github.com/mcpedge/mcpedge/edge/reflect"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/tasks"
)

// New wires an edge by its settings. It does not listen or connect.
// An error about a setting begins with its place.
func New(cfg config.Config, log *slog.Logger, options ...Option) (*App, error) {
	a, err := wire(cfg, log, options)
	if err != nil {
		return nil, cfg.Locate(err)
	}
	return a, nil
}

func wire(cfg config.Config, log *slog.Logger, options []Option) (*App, error) {
	a := &App{cfg: cfg, started: time.Now(), leaving: make(chan struct{}), endQuotas: func() {}}
	a.leave = sync.OnceFunc(func() { close(a.leaving) })
	a.settings.interval = settingsInterval
	for _, o := range options {
		o(a)
	}
	if a.redaction == nil {
		a.redaction = new(redact.Current)
	}
	log = RedactedLog(log, a.redaction)
	a.log = log
	a.notReady("starting")
	logGRPC(log)
	warnOfSettings(cfg, log)
	for _, wire := range []func() error{a.wireCallers, a.wireBackends, a.wireState, a.wireAccess, a.wireDispatch, a.wireEras, a.observe} {
		if err := wire(); err != nil {
			return nil, err
		}
	}
	router := &era.Router{Stateless: a.stateless, Stateful: a.stateful, MaxBatch: config.Batch, Telemetry: a.telemetry}
	if cfg.SessionsOptional() {
		router.Sessionless = a.stateless.Sessionless()
	}
	a.servers(router)
	return a, nil
}

// wireCallers creates telemetry and the authentication of callers and of the edge itself.
func (a *App) wireCallers() (err error) {
	if a.proxies, err = a.cfg.Proxies(); err != nil {
		return err
	}
	a.foreign = newForeign(a.log, a.proxies)
	if a.telemetry == nil {
		if a.telemetry, err = Telemetry(a.cfg, a.log, a.dev, a.redaction); err != nil {
			return err
		}
	}
	if a.auth, err = newAuth(&a.cfg, a.proxies, func() auth.Proofs { return a.durable.proofs }, a.log, a.telemetry); err != nil {
		return err
	}
	if err := a.tls.listeners(a.cfg, a.log); err != nil {
		return err
	}
	return a.openIdentity()
}

// wireBackends reads the first generation of settings, and creates the pool and, if configured, the
// discovery in Kubernetes.
func (a *App) wireBackends() error {
	a.learned = reflect.NewMemory(int64(a.cfg.Server.Memory) / 4)
	a.newSettings()
	first, err := a.first()
	if err != nil {
		return err
	}
	a.current.Store(first)
	a.serving.Store(first.number)
	a.redaction.Set(first.Masker)
	if a.pool, err = newPool(first.backends, a.log, a.telemetry); err != nil {
		return err
	}
	return a.openCluster()
}

// wireState creates the memory budget and the media.
func (a *App) wireState() (err error) {
	a.memory = budget.New(int64(a.cfg.Server.Memory) / 2)
	a.memory.OnFull(a.reportFull)
	a.durable, err = newDurable(a.cfg, a.log, a.telemetry, a.memory)
	return err
}

// wireAccess creates the access control and the audit.
func (a *App) wireAccess() (err error) {
	first := a.current.Load()
	a.quotas = a.newQuotas(first)
	if a.audit, err = a.newAudit(); err != nil {
		return err
	}
	if err := a.newControl(first); err != nil {
		return err
	}
	a.openSets(first)
	a.storeStatus()
	return nil
}

// wireDispatch creates the dispatcher, the table of names and the registry of disabled objects.
func (a *App) wireDispatch() error {
	a.names = ownership.New(ownership.Options{Store: a.durable.names, Bytes: int(a.cfg.Advanced.NameBytes), Logger: a.log})
	o := dispatch.Options{Catalog: catalogOptions(a.cfg), ArgumentValues: a.cfg.Advanced.ArgumentValues, Logger: a.log, Telemetry: a.telemetry, Redact: a.redaction.Masker}
	o.Catalog.Names = a.names
	o.Confirmations, o.CallLifetime = a.durable.confirmations, a.cfg.Calls.Lifetime
	o.Hooks = a.hooks.Load
	if a.auth != nil {
		o.Revoked = a.auth.Revoked
	}
	o.Catalog.Sets = a.current.Load().Overlays()
	if a.quotas != nil || a.audit != nil || a.access.Policy() != nil {
		o.Access = a.access.InForce
	}
	a.dispatch = dispatch.New(a.pool, o)
	a.disabled = disabled.New(disabled.Options{Store: a.durable.disabled, Logger: a.log})
	a.disabled.OnChange(a.dispatch.Catalog().Disable)
	return nil
}

// wireEras creates tasks and both eras.
func (a *App) wireEras() error {
	open := func(h medium.Hooks) medium.Store {
		a.store = a.durable.Store(h)
		return a.store
	}
	cfg := &a.cfg
	a.tasks = tasks.New(a.dispatch, a.durable.Tasks, tasks.Options{
		Challenges: a.access.Challenges, Approvable: a.access.Approvable, ServerInfo: a.dispatch.Catalog().ServerInfo,
		Grace: cfg.Tasks.After, Lifetime: cfg.Tasks.Lifetime, TTL: cfg.Tasks.TTL, Poll: config.TaskPoll,
		Polls: cfg.Advanced.TaskPolls, PageSize: cfg.Lists.PageSize, MaxRunning: cfg.Tasks.Running, MaxRunningPerPrincipal: cfg.Advanced.RunningTasksPerPrincipal,
		MaxRounds: cfg.Calls.Rounds, MaxAttempts: config.Attempts, Heartbeat: min(cfg.Redis.Lease/4, time.Second),
		Replica: a.cfg.ReplicaName(), Recent: devTasks(a.dev), Memory: a.memory, Logger: a.log, Telemetry: a.telemetry,
	})
	a.stateful = stateful.New(a.tasks, a.dispatch.Catalog(), open, stateful.Options{
		Challenges:  a.access.Challenges,
		StreamAfter: cfg.Calls.StreamAfter, KeepAlive: cfg.Listen.KeepAlive,
		SessionStale: config.SessionStale, MaxRounds: cfg.Calls.Rounds,
		CallLifetime: cfg.Calls.Lifetime, MaxAttempts: config.Attempts, MaxCallsPerSession: cfg.Advanced.CallsPerSession,
		Heartbeat: min(cfg.Redis.Lease/4, time.Second), SessionTTL: cfg.Sessions.TTL,
		MaxSessionsPerAddress: cmp.Or(cfg.Advanced.SessionsPerAddress, max(minSessionsPerAddress, cfg.Clients.Sessions/2)),
		Optional:              a.cfg.SessionsOptional(), Ended: a.durable.ended,
		Memory: a.memory, ChargeCopies: a.cfg.Redis.URL != "",
		Logger: a.log, Telemetry: a.telemetry,
	})
	keys, err := a.cfg.Keys()
	if err != nil {
		return err
	}
	if err := a.stateful.SealWith(keys...); err != nil {
		return err
	}
	a.stateless, err = stateless.New(a.tasks, a.dispatch.Catalog(), stateless.Options{
		Keys: keys, MaxRounds: cfg.Calls.Rounds, CallLifetime: cfg.Calls.Lifetime,
		StreamAfter: cfg.Calls.StreamAfter, KeepAlive: cfg.Listen.KeepAlive, MaxListens: cfg.Advanced.ListensPerPrincipal,
		MaxListenBytes:   int(config.ListenBytes),
		MaxSubscriptions: cfg.Clients.Subscriptions, Logger: a.log, Telemetry: a.telemetry,
	})
	return err
}

// minSessionsPerAddress is the lowest default for the sessions that one address may begin: the
// allowance does not refill when sessions end, but over their TTL.
const minSessionsPerAddress = 100

// catalogOptions returns the settings of the catalog, without those for observation.
func catalogOptions(cfg config.Config) catalog.Options {
	return catalog.Options{
		Name: cfg.Server.Name, Title: cfg.Server.Title, Version: Version(),
		Overlay: cfg.Overlay(), PageSize: cfg.Lists.PageSize, PageBytes: int(cfg.Advanced.PageBytes), WatchedURIs: cfg.Clients.Subscriptions,
	}
}
