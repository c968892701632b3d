package telemetry

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel/attribute"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// maxSeries bounds the series of one instrument. Beyond it all count in one overflow series.
const maxSeries = 4000

// New sets up telemetry by the standard environment variables. Metrics are always collected for
// Prometheus, and sent by OTLP if OTEL_METRICS_EXPORTER or an OTLP endpoint is set. Spans are only
// made if OTEL_TRACES_EXPORTER or an OTLP endpoint names a receiver. OTEL_SDK_DISABLED=true
// disables both. New fails if the environment names an unknown exporter or sampler.
func New(ctx context.Context, o Options) (*Telemetry, error) {
	env := environment{o.Lookup}
	t := &Telemetry{replica: o.Replica, content: o.Content, redaction: o.Redact, system: o.StateSystem, gatherer: prometheus.NewRegistry()}
	t.access = newAccess(o.Logger)
	t.clients.authenticated = o.Authenticated
	t.gatherer.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if env.get("OTEL_SDK_DISABLED") == "true" {
		t.meter = noopmetric.NewMeterProvider().Meter(Scope)
		return t, nil
	}
	res, err := describe(ctx, o)
	if err != nil {
		return nil, err
	}
	t.resource = res
	if err := t.startMetrics(ctx, env, res); err != nil {
		return nil, err
	}
	if err := t.startTraces(ctx, env, res, o); err != nil {
		return nil, errors.Join(err, t.metrics.Shutdown(ctx))
	}
	return t, nil
}

// environment reads variables. An empty variable counts as unset.
type environment struct {
	lookup func(string) (string, bool)
}

func (e environment) get(key string) string {
	if e.lookup == nil {
		return ""
	}
	v, _ := e.lookup(key)
	return strings.TrimSpace(v)
}

// exports reports whether a signal ("TRACES", "METRICS") is exported.
func (e environment) exports(signal string) bool {
	if v := e.get("OTEL_" + signal + "_EXPORTER"); v != "" {
		return v != "none"
	}
	return e.get("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || e.get("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != ""
}

// ExportsTraces reports whether the environment names a receiver of spans.
func ExportsTraces(lookup func(key string) (string, bool)) bool {
	return environment{lookup}.exports("TRACES")
}

// describe returns the resource. The environment takes precedence.
func describe(ctx context.Context, o Options) (*resource.Resource, error) {
	attrs := []attribute.KeyValue{attribute.String("service.name", "mcpedge")}
	if o.Version != "" {
		attrs = append(attrs, attribute.String("service.version", o.Version))
	}
	if o.Replica != "" {
		attrs = append(attrs, attribute.String("service.instance.id", o.Replica))
	}
	res, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(attrs...), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("telemetry: OTEL_RESOURCE_ATTRIBUTES or OTEL_SERVICE_NAME: %w", err)
	}
	return res, nil
}

func (t *Telemetry) startMetrics(ctx context.Context, env environment, res *resource.Resource) error {
	scraped, err := otelprometheus.New(otelprometheus.WithRegisterer(t.gatherer), otelprometheus.WithoutScopeInfo())
	if err != nil {
		return fmt.Errorf("telemetry: metrics for Prometheus: %w", err)
	}
	options := []sdkmetric.Option{
		sdkmetric.WithResource(res), sdkmetric.WithReader(scraped), sdkmetric.WithCardinalityLimit(maxSeries),
	}
	// The admin listener serves Prometheus; do not start a second server.
	if env.exports("METRICS") && env.get("OTEL_METRICS_EXPORTER") != "prometheus" {
		reader, err := autoexport.NewMetricReader(ctx)
		if err != nil {
			return fmt.Errorf("telemetry: OTEL_METRICS_EXPORTER: %w", err)
		}
		options = append(options, sdkmetric.WithReader(reader))
	}
	provider := sdkmetric.NewMeterProvider(options...)
	t.metrics, t.meter = provider, provider.Meter(Scope)
	return t.instruments()
}

func (t *Telemetry) startTraces(ctx context.Context, env environment, res *resource.Resource, o Options) error {
	exported := env.exports("TRACES")
	if !exported && len(o.SpanProcessors) == 0 {
		return nil
	}
	sampler := o.Sampler
	if sampler == nil {
		var err error
		if sampler, err = env.sampler(); err != nil {
			return err
		}
	}
	options := []sdktrace.TracerProviderOption{
		sdktrace.WithResource(res), sdktrace.WithIDGenerator(ids{}), sdktrace.WithSampler(sampler),
	}
	for _, p := range o.SpanProcessors {
		options = append(options, sdktrace.WithSpanProcessor(p))
	}
	if exported {
		exporter, err := autoexport.NewSpanExporter(ctx)
		if err != nil {
			return fmt.Errorf("telemetry: OTEL_TRACES_EXPORTER: %w", err)
		}
		options = append(options, sdktrace.WithBatcher(&redacting{exporter, o.Redact}))
	}
	t.traces = sdktrace.NewTracerProvider(options...)
	t.tracer = t.traces.Tracer(Scope)
	return nil
}
