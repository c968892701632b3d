package telemetry

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"
)

// read is a histogram's series, by their attributes.
type read func() map[string]metricdata.HistogramDataPoint[float64]

func newDurations(t *testing.T) (*durations[string], read) {
	t.Helper()
	reader := sdkmetric.NewManualReader()
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithCardinalityLimit(maxSeries))
	h, err := provider.Meter(Scope).Float64Histogram("h", metric.WithExplicitBucketBoundaries(0.01, 1))
	if err != nil {
		t.Fatal(err)
	}
	d := &durations[string]{}
	d.init(h, func(k string) []attribute.KeyValue { return []attribute.KeyValue{attribute.String("k", k)} })
	return d, func() map[string]metricdata.HistogramDataPoint[float64] {
		t.Helper()
		var all metricdata.ResourceMetrics
		if err := reader.Collect(t.Context(), &all); err != nil {
			t.Fatal(err)
		}
		out := map[string]metricdata.HistogramDataPoint[float64]{}
		for _, scope := range all.ScopeMetrics {
			for _, m := range scope.Metrics {
				for _, p := range m.Data.(metricdata.Histogram[float64]).DataPoints {
					out[p.Attributes.Encoded(attribute.DefaultEncoder())] = p
				}
			}
		}
		return out
	}
}

// Values beyond the last series count in an overflow series, and the cache of series is bounded.
func TestSeriesAreBounded(t *testing.T) {
	d, read := newDurations(t)
	for i := range maxSeries + 100 {
		d.record(context.Background(), fmt.Sprint("k", i), time.Second)
		d.record(context.Background(), fmt.Sprint("k", i), time.Second)
	}
	got := read()
	if n := len(got); n != maxSeries {
		t.Errorf("%d series, want %d", n, maxSeries)
	}
	if n := got["otel.metric.overflow=true"].Count; n != 2*101 {
		t.Errorf("%d of them beyond the bound, want %d", n, 2*101)
	}
	if n := len(*d.known.Load()); n != maxSeries {
		t.Errorf("the attributes of %d series are kept, want %d", n, maxSeries)
	}
}

// The last sampled observation is the exemplar.
func TestExemplar(t *testing.T) {
	d, read := newDurations(t)
	sampled := ParseParent(someParent)
	d.record(trace.ContextWithSpanContext(context.Background(), sampled), "a", time.Second)
	d.record(trace.ContextWithSpanContext(context.Background(), sampled.WithTraceFlags(0)), "a", 2*time.Second)
	d.record(context.Background(), "a", 3*time.Second)
	e := read()["k=a"].Exemplars
	if len(e) != 1 || e[0].Value != 1 || trace.SpanID(e[0].SpanID) != sampled.SpanID() || trace.TraceID(e[0].TraceID) != sampled.TraceID() {
		t.Errorf("exemplars %+v", e)
	}
}
