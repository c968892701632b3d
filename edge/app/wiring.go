package app

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/dispatch"
	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/era/stateful"
	"github.com/mcpedge/mcpedge/edge/era/stateless"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// New wires an edge by its settings. Nothing listens or dials yet.
func New(cfg config.Config, log *slog.Logger, options ...Option) (*App, error) {
	a := &App{cfg: cfg, log: log, started: time.Now(), leaving: make(chan struct{})}
	a.leave = sync.OnceFunc(func() { close(a.leaving) })
	for _, o := range options {
		o(a)
	}
	a.notReady("starting")
	logGRPC(log)
	warnOfDeprecated(cfg, log)
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
	if a.pool, err = Pool(cfg, log, a.telemetry); err != nil {
		return nil, err
	}
	a.memory = budget.New(int64(cfg.Memory) / 2)
	a.memory.OnFull(a.reportFull)
	o := dispatching(cfg)
	o.Logger, o.Telemetry = log, a.telemetry
	a.dispatch = dispatch.New(a.pool, o)
	if a.medium, err = newMedium(cfg, log, a.telemetry, a.memory); err != nil {
		return nil, err
	}
	a.stateful = stateful.New(a.dispatch, a.medium, stateful.Options{
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
	a.stateless, err = stateless.New(a.dispatch, stateless.Options{
		Keys: keys, MaxRounds: cfg.Limits.Rounds, CallLifetime: cfg.Limits.CallLifetime,
		KeepAlive: cfg.Limits.KeepAlive, MaxListens: cfg.Limits.ListensPerPrincipal,
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

// warnOfDeprecated logs the settings that are accepted for now only.
func warnOfDeprecated(cfg config.Config, log *slog.Logger) {
	for _, note := range cfg.Deprecated() {
		log.Warn("a setting is deprecated", "setting", note)
	}
}

// minSessionsPerAddress is the least default of the sessions that one address may begin: they are not regained when
// they end, but over their TTL.
const minSessionsPerAddress = 100

// dispatching are the settings of what is served, for everything but who observes it.
func dispatching(cfg config.Config) dispatch.Options {
	return dispatch.Options{
		Name: cfg.Server.Name, Title: cfg.Server.Title, Version: Version(),
		FullSchemas: cfg.Schemas == config.SchemasFull,
		PageSize:    cfg.Limits.PageSize, PageBytes: int(cfg.Limits.PageBytes), WatchedURIs: cfg.Limits.Subscriptions,
		ArgumentValues: cfg.Limits.ArgumentValues,
	}
}

// Paging says of backends' catalogs which lists clients would get in more than one page.
func Paging(cfg config.Config) *dispatch.Paging { return dispatch.NewPaging(dispatching(cfg)) }

// Pool makes the pool of the configured backends; nothing is dialled before its Start. t may be nil.
func Pool(cfg config.Config, log *slog.Logger, t *telemetry.Telemetry) (*backend.Pool, error) {
	backends, err := Backends(cfg, log)
	if err != nil {
		return nil, err
	}
	o := backend.Options{Logger: log}
	if t.Tracing() {
		o.Tracing = t
	}
	return backend.NewPool(backends, o)
}

// Backends turns the settings of the backends into what the pool takes, certificates read. log is for
// what stands before backends that do not speak the contract.
func Backends(cfg config.Config, log *slog.Logger) ([]backend.Config, error) {
	var out []backend.Config
	for _, b := range cfg.Backends {
		c := backend.Config{
			Name: b.Name, Target: b.Target, Prefix: b.Prefix, Timeout: b.Timeout,
			MaxConcurrent: b.MaxConcurrent, MaxMessageBytes: int(b.MaxMessage),
			Refresh: b.Refresh, StaleAfter: b.StaleAfter,
			FullSchemas: cfg.Schemas == config.SchemasFull,
		}
		if b.TLS != nil {
			creds, err := transportCredentials(b.TLS)
			if err != nil {
				return nil, fmt.Errorf("backend %s: %w", b.Name, err)
			}
			c.Credentials = creds
		}
		if b.Kind == config.KindReflect {
			c.Adapt = reflected(b, log)
		}
		out = append(out, c)
	}
	return out, nil
}

func transportCredentials(t *config.TLS) (credentials.TransportCredentials, error) {
	conf := &tls.Config{ServerName: t.ServerName, MinVersion: tls.VersionTLS12}
	if t.CA != "" {
		pem, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("tls.ca: %w", err)
		}
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("tls.ca: %s holds no PEM certificate", t.CA)
		}
	}
	if t.Cert != "" {
		cert, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, fmt.Errorf("tls.cert, tls.key: %w", err)
		}
		conf.Certificates = []tls.Certificate{cert}
	}
	return credentials.NewTLS(conf), nil
}

// Version is the module's version as built; "devel" for a build from a work tree.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}
