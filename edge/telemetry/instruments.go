package telemetry

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Bounds of the histograms' buckets, in seconds.
var (
	// operationBounds are those of the conventions.
	operationBounds = []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300}
	listenBounds    = []float64{1, 10, 60, 300, 1800, 3600, 4 * 3600, 24 * 3600}
	queueBounds     = []float64{0.01, 0.1, 1, 5, 15, 60, 300, 900, 3600, 4 * 3600}
	callBounds      = []float64{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60}
	redisBounds     = []float64{0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1}
)

// instruments makes the instruments that are recorded; the others are observed, see Observe.
func (t *Telemetry) instruments() error {
	var errs []error
	histogram := func(name string, bounds []float64) metric.Float64Histogram {
		i, _ := named(name)
		h, err := t.meter.Float64Histogram(name, metric.WithUnit(i.Unit), metric.WithDescription(i.Description),
			metric.WithExplicitBucketBoundaries(bounds...))
		errs = append(errs, err)
		return h
	}
	t.server.init(histogram(ServerOperation, operationBounds), series.attributes)
	t.client.init(histogram(ClientOperation, operationBounds), series.attributes)
	t.backends.init(histogram(BackendCall, callBounds), work.attributes)
	t.hooks.init(histogram(HookDuration, callBounds), hookSeries.attributes)
	t.redis.init(histogram(RedisCommand, redisBounds), command.attributes)
	t.sessions = histogram(ServerSession, operationBounds)
	t.listens = histogram(ListenDuration, listenBounds)
	t.queued = histogram(TasksQueueTime, queueBounds)
	errs = append(errs, t.Observe(ClientRequests, func(emit Emit) {
		t.clients.each(func(name string, ok, failed int64) {
			emit(float64(ok), AttrClient.String(name), AttrOutcome.String("ok"))
			emit(float64(failed), AttrClient.String(name), AttrOutcome.String("error"))
		})
	}), t.Observe(BoundHits, t.bounds.observe), t.Observe(HookDecisions, t.hookDecisions.observe), t.Observe(PolicyTrials, t.trials.observe),
		t.Observe(PolicyConfirmations, t.confirmations.observe), t.Observe(SessionsMissing, t.observeMissing))
	return errors.Join(errs...)
}

// Emit reports one value of a metric.
type Emit func(value float64, attrs ...attribute.KeyValue)

// Observe makes fn report a counter or gauge of the catalogue whenever metrics are collected. fn
// must not block. A counter's values must not fall.
func (t *Telemetry) Observe(name string, fn func(Emit)) error {
	if t == nil {
		return nil
	}
	i, ok := named(name)
	if !ok || i.Kind == Histogram {
		return fmt.Errorf("telemetry: %q is not a counter or gauge in the catalogue: add it there", name)
	}
	callback := metric.WithFloat64Callback(func(_ context.Context, o metric.Float64Observer) error {
		fn(func(value float64, attrs ...attribute.KeyValue) { o.Observe(value, metric.WithAttributes(attrs...)) })
		return nil
	})
	var err error
	if i.Kind == Counter {
		_, err = t.meter.Float64ObservableCounter(name, metric.WithUnit(i.Unit), metric.WithDescription(i.Description), callback)
	} else {
		_, err = t.meter.Float64ObservableGauge(name, metric.WithUnit(i.Unit), metric.WithDescription(i.Description), callback)
	}
	return err
}
