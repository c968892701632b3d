package app

import (
	"context"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/quota"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// newQuotas makes the limiter of the configured quotas; nil if there are none.
func (a *App) newQuotas() (*quota.Limiter, error) {
	rules, err := a.cfg.QuotaRules()
	if err != nil || len(rules) == 0 {
		return nil, err
	}
	a.limiting.what, a.limiting.prepare = "quotas", a.prepareQuotas
	return quota.New(quota.Options{Rules: rules, Store: a.durable.quotas, Logger: a.log}), nil
}

// prepareQuotas is prepare of the quotas.
func (a *App) prepareQuotas(file string) (apply func() bool, err error) {
	rules, err := config.ReadQuotas(file)
	return func() bool { return a.quotas.SetRules(rules) }, err
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
		a.telemetry.Observe(telemetry.QuotaExchanges, func(emit telemetry.Emit) { emit(float64(a.limiting.exchanges.Load())) }),
	}
}
