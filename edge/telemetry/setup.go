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

// maxSeries bounds the series of one instrument: what is beyond goes to one that says so.
const maxSeries = 4000

// New sets telemetry up by the standard environment. Metrics are always gathered for Prometheus, and
// sent by OTLP where OTEL_METRICS_EXPORTER or an OTLP endpoint says so; spans are made only where
// OTEL_TRACES_EXPORTER or an OTLP endpoint names somebody to send them to. OTEL_SDK_DISABLED=true turns
// both off. It fails when the environment names what does not exist.
func New(ctx context.Context, o Options) (*Telemetry, error) {
	env := environment{o.Lookup}
	t := &Telemetry{replica: o.Replica, content: o.Content, system: o.StateSystem, gatherer: prometheus.NewRegistry()}
	t.access = newAccess(o.Logger)
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

// environment reads variables; empty ones are not set.
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

// exports says whether a signal ("TRACES", "METRICS") is to be exported.
func (e environment) exports(signal string) bool {
	if v := e.get("OTEL_" + signal + "_EXPORTER"); v != "" {
		return v != "none"
	}
	return e.get("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || e.get("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != ""
}

// ExportsTraces says whether an environment names somebody to send spans to.
func ExportsTraces(lookup func(key string) (string, bool)) bool {
	return environment{lookup}.exports("TRACES")
}

// describe is the resource: what the environment says of it wins.
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
	// Prometheus is served by the admin listener: no second server for it.
	if env.exports("METRICS") && env.get("OTEL_METRICS_EXPORTER") != "prometheus" {
		reader, err := autoexport.NewMetricReader(ctx)
		if err != nil {
			return fmt.Errorf("telemetry: OTEL_METRICS_EXPORTER: %w", err)
		}
		options = append(options, sdkmetric.WithReader(reader))
	}
	t.metrics = sdkmetric.NewMeterProvider(options...)
	t.meter = t.metrics.Meter(Scope)
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
		options = append(options, sdktrace.WithBatcher(exporter))
	}
	t.traces = sdktrace.NewTracerProvider(options...)
	t.tracer = t.traces.Tracer(Scope)
	return nil
}
