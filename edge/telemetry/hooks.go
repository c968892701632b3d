package telemetry

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
)

// hookSeries identifies the decisions of one hook at one point with one outcome.
type hookSeries struct{ hook, on, outcome string }

func (h hookSeries) attributes() []attribute.KeyValue {
	return []attribute.KeyValue{AttrHook.String(h.hook), AttrHookOn.String(h.on), AttrOutcome.String(h.outcome)}
}

// decisions counts what hooks decided, also those of earlier settings. The zero value has no counts. It is safe for concurrent use.
type decisions struct {
	mu sync.Mutex
	of map[hookSeries]int64
}

func (d *decisions) add(h hookSeries) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.of == nil {
		d.of = map[hookSeries]int64{}
	}
	if _, known := d.of[h]; known || len(d.of) < maxSeries {
		d.of[h]++
	}
}

func (d *decisions) observe(emit Emit) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for h, n := range d.of {
		emit(float64(n), h.attributes()...)
	}
}

// RecordHook records the decision of a hook at a point. took is the duration of the RPC; a negative one means that none was sent.
func (t *Telemetry) RecordHook(ctx context.Context, hook, on, outcome string, took time.Duration) {
	if t == nil {
		return
	}
	h := hookSeries{hook, on, outcome}
	t.hookDecisions.add(h)
	if took >= 0 {
		t.hooks.record(ctx, h, took)
	}
}
