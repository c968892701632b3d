package telemetry

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// durations records durations in series that are told apart by a key of few values.
type durations[K comparable] struct {
	duration metric.Float64Histogram // nil: nothing is recorded
	known    atomic.Pointer[map[K][]metric.RecordOption]
	mu       sync.Mutex // of those who add a series
}

func (d *durations[K]) init(h metric.Float64Histogram) {
	d.duration = h
	d.known.Store(&map[K][]metric.RecordOption{})
}

// record makes a series' attributes once; beyond maxSeries they are not kept.
func (d *durations[K]) record(ctx context.Context, key K, took time.Duration, attributes func(K) []attribute.KeyValue) {
	if d.duration == nil {
		return
	}
	options := (*d.known.Load())[key]
	if options == nil {
		options = d.add(key, attributes)
	}
	d.duration.Record(ctx, took.Seconds(), options...)
}

func (d *durations[K]) add(key K, attributes func(K) []attribute.KeyValue) []metric.RecordOption {
	options := []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(attributes(key)...))}
	d.mu.Lock()
	defer d.mu.Unlock()
	before := *d.known.Load()
	if len(before) >= maxSeries {
		return options
	}
	after := maps.Clone(before)
	after[key] = options
	d.known.Store(&after)
	return options
}

// work is one kind of work of one backend, and how it ended.
type work struct {
	backend string
	method  mcp.Method
	outcome string
}

func (w work) attributes() []attribute.KeyValue {
	return []attribute.KeyValue{AttrBackend.String(w.backend), AttrMethod.String(string(w.method)), AttrOutcome.String(w.outcome)}
}

// BackendCalled records one round of a call at a backend.
func (t *Telemetry) BackendCalled(ctx context.Context, backend string, m mcp.Method, o *Outcome, took time.Duration) {
	if t != nil {
		t.backends.record(ctx, work{backend, m, o.String()}, took, work.attributes)
	}
}

// command is a Redis command, and how it ended.
type command struct {
	name   string
	failed bool
}

func (c command) attributes() []attribute.KeyValue {
	outcome := "ok"
	if c.failed {
		outcome = "error"
	}
	return []attribute.KeyValue{AttrCommand.String(c.name), AttrOutcome.String(outcome)}
}

// RedisCalled records one round trip to Redis. The command is one that the edge uses.
func (t *Telemetry) RedisCalled(ctx context.Context, name string, failed bool, took time.Duration) {
	if t != nil {
		t.redis.record(ctx, command{name, failed}, took, command.attributes)
	}
}
