package app

import (
	"context"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/quota"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// newQuotas makes the limiter of the configured quotas; nil: there are none.
func (a *App) newQuotas() (*quota.Limiter, error) {
	rules, err := a.cfg.QuotaRules()
	if err != nil || len(rules) == 0 {
		return nil, err
	}
	l := &a.limiting
	l.what, l.file, l.log, l.read = "quotas", a.cfg.File, a.log, a.rereadQuotas
	return quota.New(quota.Options{Rules: rules, Store: a.durable.Quotas(), Logger: a.log}), nil
}

func (a *App) rereadQuotas(file string) (exchanged bool, err error) {
	rules, err := config.ReadQuotas(file)
	if err != nil {
		return false, err
	}
	return a.quotas.SetRules(rules), nil
}

// startQuotas has the limiter share the quotas with other replicas, until endQuotas gives back what this one has of them.
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

// observeQuotas has telemetry read the limiter.
func (a *App) observeQuotas() []error {
	if a.quotas == nil {
		return nil
	}
	return []error{
		a.telemetry.Observe(telemetry.QuotaRefused, func(emit telemetry.Emit) {
			a.quotas.Refusals(func(rule string, n int64) { emit(float64(n), telemetry.AttrQuota.String(rule)) })
		}),
		a.telemetry.Observe(telemetry.QuotaUnshared, func(emit telemetry.Emit) { emit(float64(a.quotas.Unshared())) }),
		a.telemetry.Observe(telemetry.QuotaStale, func(emit telemetry.Emit) { emit(one(a.limiting.stale.Load())) }),
		a.telemetry.Observe(telemetry.QuotaExchanges, func(emit telemetry.Emit) { emit(float64(a.limiting.exchanges.Load())) }),
	}
}
