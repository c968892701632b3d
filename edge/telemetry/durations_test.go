package telemetry

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"
)

func newDurations() *durations[string] {
	d := &durations[string]{}
	d.init([]float64{0.01, 1}, func(k string) []attribute.KeyValue { return []attribute.KeyValue{attribute.String("k", k)} })
	return d
}

func (d *durations[K]) read(t *testing.T) map[string]metricdata.HistogramDataPoint[float64] {
	t.Helper()
	m, _ := d.metric(ServerOperation)
	out := map[string]metricdata.HistogramDataPoint[float64]{}
	if m.Data != nil {
		for _, p := range m.Data.(metricdata.Histogram[float64]).DataPoints {
			out[p.Attributes.Encoded(attribute.DefaultEncoder())] = p
		}
	}
	return out
}

// A bound belongs to the bucket below it; nothing is lost among many who record.
func TestDurations(t *testing.T) {
	d := newDurations()
	if n := len(d.read(t)); n != 0 {
		t.Errorf("%d series before the first", n)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 1000 {
				d.record(context.Background(), fmt.Sprint(i%2), []time.Duration{10 * time.Millisecond, time.Second, time.Hour, 0}[i%4])
			}
		})
	}
	wg.Wait()
	got := d.read(t)
	for key, want := range map[string]struct {
		counts [3]uint64
		sum    float64
	}{"k=0": {[3]uint64{2000, 0, 2000}, 2000*0.01 + 2000*3600}, "k=1": {[3]uint64{2000, 2000, 0}, 2000}} {
		p := got[key]
		if len(p.BucketCounts) != 3 || [3]uint64(p.BucketCounts) != want.counts || p.Count != 4000 || math.Abs(p.Sum-want.sum) > 1e-3 {
			t.Errorf("%s: %+v, want %+v", key, p, want)
		}
	}
}

// What comes after the last series that may be is counted, in one that says so.
func TestSeriesAreBounded(t *testing.T) {
	d := newDurations()
	for i := range maxSeries + 100 {
		d.record(context.Background(), fmt.Sprint("k", i), time.Second)
		d.record(context.Background(), fmt.Sprint("k", i), time.Second)
	}
	got := d.read(t)
	if n := len(got); n != maxSeries {
		t.Errorf("%d series, want %d", n, maxSeries)
	}
	if n := got["otel.metric.overflow=true"].Count; n != 2*101 {
		t.Errorf("%d of them beyond the bound, want %d", n, 2*101)
	}
}

// The last sampled observation is the exemplar.
func TestExemplar(t *testing.T) {
	d := newDurations()
	sampled := ParseParent(someParent)
	d.record(trace.ContextWithSpanContext(context.Background(), sampled), "a", time.Second)
	d.record(trace.ContextWithSpanContext(context.Background(), sampled.WithTraceFlags(0)), "a", 2*time.Second)
	d.record(context.Background(), "a", 3*time.Second)
	e := d.read(t)["k=a"].Exemplars
	if len(e) != 1 || e[0].Value != 1 || trace.SpanID(e[0].SpanID) != sampled.SpanID() || trace.TraceID(e[0].TraceID) != sampled.TraceID() {
		t.Errorf("exemplars %+v", e)
	}
}
