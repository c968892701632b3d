package app

import (
	"context"

	"github.com/mcpedge/mcpedge/edge/quota"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// newQuotas creates the limiter for the quotas of the first generation. It returns nil if there are
// none.
func (a *App) newQuotas(g *generation) *quota.Limiter {
	if len(g.Quotas) == 0 {
		return nil
	}
	return quota.New(quota.Options{Rules: g.Quotas, Store: a.durable.quotas, Logger: a.log})
}

// startQuotas makes the limiter share the quotas with other replicas, until endQuotas returns this
// replica's part.
func (a *App) startQuotas(ctx context.Context) {
	if a.quotas == nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a.quotas.Run(ctx)
	}()
	a.endQuotas = func() {
		cancel()
		<-ended
	}
}

// observeQuotas registers the limiter with telemetry.
func (a *App) observeQuotas() []error {
	if a.quotas == nil {
		return nil
	}
	return []error{
		a.telemetry.Observe(telemetry.QuotaRefused, func(emit telemetry.Emit) {
			a.quotas.Refusals(func(rule string, n int64) { emit(float64(n), telemetry.AttrQuota.String(rule)) })
		}),
		a.telemetry.Observe(telemetry.QuotaUnshared, func(emit telemetry.Emit) { emit(float64(a.quotas.Unshared())) }),
	}
}
