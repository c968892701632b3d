package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"

	"github.com/mcpedge/mcpedge/edge/admin"
	"github.com/mcpedge/mcpedge/edge/catalog/disabled"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/dev"
	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/transport/web"
)

var _ admin.Replica = (*App)(nil)

// administration returns the handler of the admin address.
func (a *App) administration(router *era.Router) http.Handler {
	var page http.Handler
	if a.dev != nil {
		page = dev.Handler(a.dev, a.tasks, a.cfg.ReplicaName(), config.LoopbackHosts(), a.foreign.on("admin"))
	}
	var records admin.Auditor
	if a.audit != nil {
		records = operators{a.audit}
	}
	return admin.New(a, a.pool, admin.Options{
		Web: web.Options{
			MaxBody: int64(a.cfg.Listen.Body), ReadTimeout: a.cfg.Listen.ReadTimeout, WriteTimeout: a.cfg.Listen.WriteTimeout,
			Hosts: a.cfg.AllowedAdminHosts(), HostsKey: "admin.hosts", Refused: a.foreign.on("admin"), Telemetry: a.telemetry, Holder: a.memory.Named("admin"),
			Tokens: a.cfg.Exchanges(),
		},
		API:      &admin.API{Server: router, Curated: curated(a.dispatch.Catalog()), Memory: a.memory.Named("admin"), Sessions: a.store, Tasks: a.tasks, Approvals: a.tasks, Disabler: a.disabled, Find: findOrSuggest(a.dispatch.Catalog().Find), Replica: a},
		Profiles: a.cfg.Admin.Pprof, Metrics: a.metrics(), Level: a.level, Dev: page, Audit: records,
		JWKS:               a.jwks(),
		ClientCertificates: a.cfg.Admin.TLS.ClientCA != "" && (a.cfg.Admin.Auth == nil || !a.cfg.Admin.Auth.ClientCert),
		Auth:               a.adminAuthenticator(),
		Approvers:          a.approverAuthenticator(),
		LockProbes:         !a.cfg.Opens(config.OpenProbes), LockMetrics: !a.cfg.Opens(config.OpenMetrics), LockDev: !a.cfg.Opens(config.OpenDev),
	})
}

// Status implements admin.Replica.
func (a *App) Status() admin.Status {
	c := a.stateful.Counters()
	return admin.Status{
		Version: Version(), Name: a.cfg.ReplicaName(), Started: a.started, Draining: a.draining(),
		Sessions: a.stateful.Held(), Streams: int(c.Streams.Load() + c.Standalone.Load()),
		State: a.durable.state(), Settings: a.settings.status.Load(), Disabled: a.disabled.List(),
	}
}

// Problems implements admin.Replica.
func (a *App) Problems(backend string) []string { return a.dispatch.Catalog().Problems(backend) }

// AdminAddr returns the address of the admin listener; empty before Run opens it.
func (a *App) AdminAddr() string {
	if addr, ok := a.adminAddr.Load().(net.Addr); ok {
		return addr.String()
	}
	return ""
}

// Drain implements admin.Replica: Run continues as if its context had ended.
func (a *App) Drain() { a.leave() }

func (a *App) draining() bool {
	select {
	case <-a.leaving:
		return true
	default:
		return a.retiring.Load()
	}
}

// untilDrain returns a context that also ends with Drain.
func (a *App) untilDrain(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-a.leaving:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// findOrSuggest returns a Finder that adds similar names to the error for a name that does not
// exist.
func findOrSuggest(find admin.Finder) admin.Finder {
	return func(kind disabled.Kind, backend, name string) (disabled.Found, error) {
		found, err := find(kind, backend, name)
		if missing := (*disabled.NotFoundError)(nil); errors.As(err, &missing) {
			slices.Sort(missing.Known)
			if meant := config.Nearest(missing.Name, missing.Known); meant != "" {
				return found, &disabled.NotFoundError{Message: fmt.Sprintf("%s; %q may be meant", missing.Message, meant)}
			}
		}
		return found, err
	}
}
