package telemetry

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
)

// hooking identifies the questions to one hook at one point, and their outcome.
type hooking struct{ hook, on, outcome string }

func (h hooking) attributes() []attribute.KeyValue {
	return []attribute.KeyValue{AttrHook.String(h.hook), AttrHookOn.String(h.on), AttrOutcome.String(h.outcome)}
}

// decisions counts what hooks decided, also those of earlier settings. The zero value has no counts. It is safe for concurrent use.
type decisions struct {
	mu sync.Mutex
	of map[hooking]int64
}

func (d *decisions) add(h hooking) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.of == nil {
		d.of = map[hooking]int64{}
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

// HookAsked records what a hook decided at a point. took is how long it took; a negative one means that the hook was not asked.
func (t *Telemetry) HookAsked(ctx context.Context, hook, on, outcome string, took time.Duration) {
	if t == nil {
		return
	}
	h := hooking{hook, on, outcome}
	t.hookDecisions.add(h)
	if took >= 0 {
		t.hooks.record(ctx, h, took)
	}
}
