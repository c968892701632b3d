package app

import (
	"reflect"
	"slices"

	"github.com/mcpedge/mcpedge/edge/access"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/policy/external"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// governing is the policy in force.
type governing struct {
	rereadable
	// server is asked about what the policy allows. It belongs to the watching goroutine, and to
	// App.Run and App.Stdio.
	server policyServer
	// gone sums the denials and failures of earlier policies, by rule.
	gone policyCounts
}

// newControl makes the access control of calls.
func (a *App) newControl() error {
	p, err := a.cfg.CompilePolicy()
	if err != nil {
		return err
	}
	g := &a.governing
	if g.server, err = a.newExternal(externalOf(&a.cfg)); err != nil {
		return err
	}
	a.access = access.New(access.Options{Quotas: a.quotas, Policy: p, External: g.server.client, Authenticates: a.auth != nil, Records: a.audit, Logger: a.log})
	if p == nil {
		return nil
	}
	a.keepClaims(p)
	g.what, g.prepare = "policy", a.preparePolicy
	return nil
}

// keepClaims makes principals keep the claims that a policy inspects.
func (a *App) keepClaims(p *policy.Policy) {
	if a.auth != nil {
		a.auth.KeepClaims(p.Claims())
	}
}

// preparePolicy is prepare of the policy.
func (a *App) preparePolicy(file string) (apply func() bool, err error) {
	p, asked, err := config.ReadPolicy(file)
	if err != nil {
		return nil, err
	}
	server := a.governing.server
	switch {
	case !reflect.DeepEqual(asked, server.settings):
		if server, err = a.newExternal(asked); err != nil {
			return nil, err
		}
	case p.ID() == a.access.Policy().ID():
		return func() bool { return false }, nil
	}
	return func() bool { a.exchangePolicy(p, server); return true }, nil
}

// exchangePolicy puts a policy in force, with the policy server that it names.
func (a *App) exchangePolicy(p *policy.Policy, server policyServer) {
	g := &a.governing
	before := a.access.Policy()
	if server != g.server {
		a.startExternal(server)
	}
	a.keepClaims(p)
	for _, note := range withoutRoles(&a.cfg, p) {
		a.log.Warn(rolesUnknown, "setting", note)
	}
	a.dispatch.Catalog().Exchange(func() { a.access.SetPolicy(p, server.client) }, looksFurther(before, p))
	g.gone.add(before)
	if was := g.server; was != server {
		g.server = server
		a.closeExternal(was)
	}
}

// looksFurther reports whether a policy inspects claims that the last one did not.
func looksFurther(before, p *policy.Policy) bool {
	had, all := before.Claims()
	names, any := p.Claims()
	return !all && (any || slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(had, name) }))
}

// observePolicy registers the counters of decisions with telemetry.
func (a *App) observePolicy() []error {
	if a.access.Policy() == nil {
		return nil
	}
	g := &a.governing
	counts := func(emit telemetry.Emit, which func(counted) int64) {
		for rule, n := range g.gone.with(a.access.Policy()) {
			emit(float64(which(n)), telemetry.AttrRule.String(rule))
		}
	}
	return []error{
		a.telemetry.Observe(telemetry.PolicyExternal, func(emit telemetry.Emit) {
			a.access.Asked(func(o external.Outcome, n int64) { emit(float64(n), telemetry.AttrExternal.String(o.String())) })
		}),
		a.telemetry.Observe(telemetry.PolicyDenied, func(emit telemetry.Emit) { counts(emit, func(c counted) int64 { return c.denied }) }),
		a.telemetry.Observe(telemetry.PolicyFailed, func(emit telemetry.Emit) { counts(emit, func(c counted) int64 { return c.failed }) }),
		a.telemetry.Observe(telemetry.PolicyExchanges, func(emit telemetry.Emit) { emit(float64(g.exchanges.Load())) }),
	}
}
