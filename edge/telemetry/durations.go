package telemetry

import (
	"context"
	"maps"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"
)

// durations is a histogram of durations whose series are told apart by a key. It counts without locks and
// allocates nothing for a series it knows: every request passes here, some of them more than once, and the
// SDK's own instruments take several times as long. The SDK's readers get it as a producer.
type durations[K comparable] struct {
	bounds     []float64 // nil: nothing is recorded
	attributes func(K) []attribute.KeyValue
	known      atomic.Pointer[map[K]*points]
	began      time.Time
	mu         sync.Mutex // of those who add a series
}

// points is one series.
type points struct {
	attributes attribute.Set
	counts     []atomic.Uint64 // one more than there are bounds
	sum        atomic.Uint64   // the bits of a float64
	// exemplar is the last observation that belongs to a sampled span.
	exemplar atomic.Pointer[metricdata.Exemplar[float64]]
}

func (d *durations[K]) init(bounds []float64, attributes func(K) []attribute.KeyValue) {
	d.bounds, d.attributes, d.began = bounds, attributes, time.Now()
	d.known.Store(&map[K]*points{})
}

// record counts one duration; a sampled span in ctx becomes the series' exemplar.
func (d *durations[K]) record(ctx context.Context, key K, took time.Duration) {
	if d.bounds == nil {
		return
	}
	p := (*d.known.Load())[key]
	if p == nil {
		p = d.add(key)
	}
	seconds := took.Seconds()
	i := 0
	for i < len(d.bounds) && seconds > d.bounds[i] {
		i++
	}
	p.counts[i].Add(1)
	for {
		before := p.sum.Load()
		if p.sum.CompareAndSwap(before, math.Float64bits(math.Float64frombits(before)+seconds)) {
			break
		}
	}
	if sc := trace.SpanContextFromContext(ctx); sc.IsSampled() {
		id, span := sc.TraceID(), sc.SpanID()
		p.exemplar.Store(&metricdata.Exemplar[float64]{Time: time.Now(), Value: seconds, TraceID: id[:], SpanID: span[:]})
	}
}

// add makes a series. The last one that may be is for all that come after it.
func (d *durations[K]) add(key K) *points {
	d.mu.Lock()
	defer d.mu.Unlock()
	before := *d.known.Load()
	if p := before[key]; p != nil {
		return p
	}
	var rest K
	attrs := d.attributes(key)
	if len(before) >= maxSeries-1 {
		if p := before[rest]; p != nil {
			return p
		}
		key, attrs = rest, []attribute.KeyValue{attribute.Bool("otel.metric.overflow", true)}
	}
	p := &points{attributes: attribute.NewSet(attrs...), counts: make([]atomic.Uint64, len(d.bounds)+1)}
	after := maps.Clone(before)
	after[key] = p
	d.known.Store(&after)
	return p
}

// metric is what has been counted so far, since the beginning.
func (d *durations[K]) metric(name string) (metricdata.Metrics, bool) {
	if d.bounds == nil || len(*d.known.Load()) == 0 {
		return metricdata.Metrics{}, false
	}
	i, _ := named(name)
	h := metricdata.Histogram[float64]{Temporality: metricdata.CumulativeTemporality}
	now := time.Now()
	for _, p := range *d.known.Load() {
		point := metricdata.HistogramDataPoint[float64]{
			Attributes: p.attributes, StartTime: d.began, Time: now, Bounds: d.bounds,
			BucketCounts: make([]uint64, len(p.counts)), Sum: math.Float64frombits(p.sum.Load()),
		}
		for i := range p.counts {
			point.BucketCounts[i] = p.counts[i].Load()
			point.Count += point.BucketCounts[i]
		}
		if e := p.exemplar.Load(); e != nil {
			point.Exemplars = []metricdata.Exemplar[float64]{*e}
		}
		h.DataPoints = append(h.DataPoints, point)
	}
	return metricdata.Metrics{Name: name, Description: i.Description, Unit: i.Unit, Data: h}, true
}
