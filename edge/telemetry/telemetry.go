package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/metric"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	nooptrace "go.opentelemetry.io/otel/trace/noop"
)

// Options configure a Telemetry. The zero value of a field selects its default.
type Options struct {
	// Version is the version of the service. Empty omits it.
	Version string
	// Replica is the name of this process among the replicas: the resource's service.instance.id,
	// and in the line of a request. Empty omits it.
	Replica string
	// Logger gets the line of each finished request, at level info. nil writes none.
	Logger *slog.Logger
	// StateSystem is the database of the durable state, as in db.system.name. Empty means none, and
	// no spans for it.
	StateSystem string
	// Authenticated is whether callers have credentials. Then anonymous ones have few of the
	// clients' names in metrics.
	Authenticated bool
	// Content records the arguments and results of tool calls in spans. They may be sensitive.
	Content bool
	// Redact replaces secrets in the spans that the exporter of the environment gets. nil replaces nothing.
	Redact Redaction
	// Lookup reads the environment (os.LookupEnv): the standard OTEL_… variables. nil reads an
	// empty environment.
	Lookup func(key string) (string, bool)
	// SpanProcessors get every finished span, in addition to the exporter that the environment
	// names. If there is one, tracing is on.
	SpanProcessors []sdktrace.SpanProcessor
	// Sampler replaces the sampler that the environment names. nil uses that, by default one that
	// samples every trace whose parent is sampled or that has no parent.
	Sampler sdktrace.Sampler
}

// meterProvider is a *sdkmetric.MeterProvider. With that type in a struct, each package that imports this one compiles the generic code of
// the SDK again, which is a tenth of the time of a first build.
type meterProvider interface {
	ForceFlush(ctx context.Context) error
	Shutdown(ctx context.Context) error
}

// Telemetry records spans, metrics and log lines of the edge. Make it with New. All methods are
// safe for concurrent use, and on nil, which observes nothing.
type Telemetry struct {
	replica string
	content bool
	// redaction is that of spans.
	redaction Redaction
	system    string
	// tracer is nil while tracing is off.
	tracer   trace.Tracer
	traces   *sdktrace.TracerProvider // nil: off
	metrics  meterProvider            // nil: disabled
	meter    metric.Meter
	gatherer *prometheus.Registry
	access   *accessLog
	clients  clients
	targets  targets
	server   durations[series]
	client   durations[series]
	sessions metric.Float64Histogram
	listens  metric.Float64Histogram
	queued   metric.Float64Histogram
	backends durations[work]
	redis    durations[command]
	hooks    durations[hookSeries]
	bounds   bounds
	trials   trials
	// hookDecisions has those about questions that were not asked, too.
	hookDecisions decisions
	// missing maps revisions to the counters of SessionMissing.
	missing sync.Map
	// confirmations has questions and their answers.
	confirmations confirmations
	// auditor is nil if auditing is off.
	auditor  Auditor
	resource *resource.Resource // nil: telemetry is disabled
}

// Tracing reports whether tracing is on.
func (t *Telemetry) Tracing() bool { return t != nil && t.tracer != nil }

// Content reports whether arguments and results may be recorded.
func (t *Telemetry) Content() bool { return t != nil && t.content }

// TracerProvider returns the provider for other spans of the process that belong to the edge's
// traces. It makes none while tracing is off.
func (t *Telemetry) TracerProvider() trace.TracerProvider {
	if !t.Tracing() {
		return nooptrace.NewTracerProvider()
	}
	return t.traces
}

// Meter makes instruments. They do nothing if telemetry is disabled.
func (t *Telemetry) Meter() metric.Meter {
	if t == nil {
		return noopmetric.NewMeterProvider().Meter(Scope)
	}
	return t.meter
}

// Resource returns the resource that describes this process; nil if telemetry is disabled.
func (t *Telemetry) Resource() *resource.Resource {
	if t == nil {
		return nil
	}
	return t.resource
}

// Gatherer gathers the metrics for Prometheus, with those of the Go runtime and the process.
func (t *Telemetry) Gatherer() prometheus.Gatherer {
	if t == nil {
		return prometheus.NewRegistry()
	}
	return t.gatherer
}

// Flush exports what is finished, bounded by ctx.
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

// Shutdown exports what is finished and ends the background work, bounded by ctx. Nothing is
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
