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

// durations is a histogram of durations whose series are told apart by a key. It keeps the attributes of each series as
// the SDK takes them, so that a series it knows costs no allocation of its own. The zero value records nothing.
type durations[K comparable] struct {
	histogram  metric.Float64Histogram // nil: nothing is recorded
	attributes func(K) []attribute.KeyValue
	known      atomic.Pointer[map[K][]metric.RecordOption]
	mu         sync.Mutex // of those who add a series
}

func (d *durations[K]) init(h metric.Float64Histogram, attributes func(K) []attribute.KeyValue) {
	d.histogram, d.attributes = h, attributes
	d.known.Store(&map[K][]metric.RecordOption{})
}

// record counts one duration; a sampled span in ctx may become an exemplar.
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

// add returns the attributes of a series, and keeps them unless there are as many as the SDK tells apart: what is
// beyond it counts as one series.
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
