package telemetry

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// durations is a histogram of durations with one series per key. It caches the attributes of each
// series in the SDK's form, so that a known series costs no allocation. The zero value records
// nothing.
type durations[K comparable] struct {
	histogram  metric.Float64Histogram // nil records nothing
	attributes func(K) []attribute.KeyValue
	known      atomic.Pointer[map[K][]metric.RecordOption]
	mu         sync.Mutex // guards adding a series
}

func (d *durations[K]) init(h metric.Float64Histogram, attributes func(K) []attribute.KeyValue) {
	d.histogram, d.attributes = h, attributes
	d.known.Store(&map[K][]metric.RecordOption{})
}

// record records one duration. A sampled span in ctx may become an exemplar.
func (d *durations[K]) record(ctx context.Context, key K, took time.Duration) {
	if d.histogram == nil {
		return
	}
	series, ok := (*d.known.Load())[key]
	if !ok {
		series = d.add(key)
	}
	d.histogram.Record(ctx, took.Seconds(), series...)
}

// add returns the attributes of a series, and caches them unless the SDK's limit is reached: beyond
// it all count as one series.
func (d *durations[K]) add(key K) []metric.RecordOption {
	series := []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(d.attributes(key)...))}
	d.mu.Lock()
	defer d.mu.Unlock()
	before := *d.known.Load()
	if len(before) < maxSeries {
		after := maps.Clone(before)
		after[key] = series
		d.known.Store(&after)
	}
	return series
}
