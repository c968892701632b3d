package app

import (
	"github.com/mcpedge/mcpedge/edge/access"
	"github.com/mcpedge/mcpedge/edge/policy/external"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// newControl makes the access control of calls, and the policy server of the first generation.
func (a *App) newControl(g *generation) (err error) {
	if g.server, err = a.newExternal(externalOf(&a.cfg)); err != nil {
		return err
	}
	a.setHooks(g)
	a.access = access.New(access.Options{Quotas: a.quotas, Policy: g.Policy, External: g.server.client, Authenticates: a.auth != nil, Records: a.audit, Telemetry: a.telemetry, Logger: a.log})
	a.keepClaims(g)
	return nil
}

// observePolicy registers the counters of decisions with telemetry.
func (a *App) observePolicy() []error {
	if a.access.Policy() == nil {
		return nil
	}
	counts := func(emit telemetry.Emit, which func(counted) int64) {
		for rule, n := range a.gone.with(a.access.Policy()) {
			emit(float64(which(n)), telemetry.AttrRule.String(rule))
		}
	}
	return []error{
		a.telemetry.Observe(telemetry.PolicyExternal, func(emit telemetry.Emit) {
			a.access.Asked(func(o external.Outcome, n int64) { emit(float64(n), telemetry.AttrExternal.String(o.String())) })
		}),
		a.telemetry.Observe(telemetry.PolicyDenied, func(emit telemetry.Emit) { counts(emit, func(c counted) int64 { return c.denied }) }),
		a.telemetry.Observe(telemetry.PolicyFailed, func(emit telemetry.Emit) { counts(emit, func(c counted) int64 { return c.failed }) }),
	}
}
