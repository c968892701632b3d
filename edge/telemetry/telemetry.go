package telemetry

import (
	"context"
	"errors"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/metric"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	nooptrace "go.opentelemetry.io/otel/trace/noop"
)

// Options are the settings of a Telemetry. Zero members mean the defaults.
type Options struct {
	// Version of the service; empty: not said.
	Version string
	// Replica names this process among its like: the resource's service.instance.id, and in the line
	// of a request. Empty: not said.
	Replica string
	// Logger gets the line of each finished request, at level info; nil: none is written.
	Logger *slog.Logger
	// StateSystem is the database behind the durable state, as db.system.name has it; empty: none, and
	// no spans for it.
	StateSystem string
	// Content puts the arguments and results of tool calls into spans. They may be sensitive.
	Content bool
	// Lookup reads the environment (os.LookupEnv): the standard OTEL_… variables. nil: an empty one.
	Lookup func(key string) (string, bool)
	// SpanProcessors get every finished span beside the exporter the environment names; with one,
	// tracing is on.
	SpanProcessors []sdktrace.SpanProcessor
	// Sampler replaces the one that the environment names; nil: that, else every trace whose parent is
	// sampled or which has none.
	Sampler sdktrace.Sampler
}

// Telemetry is the edge's view of itself. Make it with New. All methods are safe for concurrent use,
// and on nil, where nothing is observed.
type Telemetry struct {
	replica string
	content bool
	system  string
	// tracer is nil while tracing is off.
	tracer   trace.Tracer
	traces   *sdktrace.TracerProvider // nil: off
	metrics  *sdkmetric.MeterProvider // nil: disabled
	meter    metric.Meter
	gatherer *prometheus.Registry
	access   *access
	clients  clients
	targets  targets
	server   durations[series]
	client   durations[series]
	sessions metric.Float64Histogram
	listens  metric.Float64Histogram
	queued   metric.Float64Histogram
	backends durations[work]
	redis    durations[command]
	bounds   bounds
	// auditor is nil where nothing is audited.
	auditor  Auditor
	resource *resource.Resource // nil: telemetry is disabled
}

// Tracing says whether there are spans at all.
func (t *Telemetry) Tracing() bool { return t != nil && t.tracer != nil }

// Content says whether arguments and results may be recorded.
func (t *Telemetry) Content() bool { return t != nil && t.content }

// TracerProvider makes the spans of others in the process that belong to the edge's traces; one that
// makes none while tracing is off.
func (t *Telemetry) TracerProvider() trace.TracerProvider {
	if !t.Tracing() {
		return nooptrace.NewTracerProvider()
	}
	return t.traces
}

// Meter makes instruments; one whose instruments do nothing when telemetry is disabled.
func (t *Telemetry) Meter() metric.Meter {
	if t == nil {
		return noopmetric.NewMeterProvider().Meter(Scope)
	}
	return t.meter
}

// Resource is what telemetry says of this process; nil: telemetry is disabled.
func (t *Telemetry) Resource() *resource.Resource {
	if t == nil {
		return nil
	}
	return t.resource
}

// Gatherer gives the metrics to Prometheus, with those of the Go runtime and the process.
func (t *Telemetry) Gatherer() prometheus.Gatherer {
	if t == nil {
		return prometheus.NewRegistry()
	}
	return t.gatherer
}

// Flush exports what is finished; ctx bounds it.
func (t *Telemetry) Flush(ctx context.Context) error {
	if t == nil {
		return nil
	}
	t.access.flush()
	var errs []error
	if t.traces != nil {
		errs = append(errs, t.traces.ForceFlush(ctx))
	}
	if t.metrics != nil {
		errs = append(errs, t.metrics.ForceFlush(ctx))
	}
	return errors.Join(errs...)
}

// Shutdown exports what is finished and ends what runs in the background; ctx bounds it. Nothing is
// observed afterwards. Call it once.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	if t == nil {
		return nil
	}
	t.access.flush()
	var errs []error
	if t.traces != nil {
		errs = append(errs, t.traces.Shutdown(ctx))
	}
	if t.metrics != nil {
		errs = append(errs, t.metrics.Shutdown(ctx))
	}
	return errors.Join(errs...)
}
