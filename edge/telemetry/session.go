package telemetry

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// SessionPrint identifies a session in spans and logs (mcp.SessionPrint).
func SessionPrint(id string) string { return mcp.SessionPrint(id) }

// SessionEnded records the lifetime of a session that its client ended.
func (t *Telemetry) SessionEnded(began time.Time, version string, pipe bool) {
	if t == nil || t.sessions == nil || began.IsZero() {
		return
	}
	attrs := append([]attribute.KeyValue{AttrVersion.String(version)}, transport(pipe)...)
	t.sessions.Record(context.Background(), time.Since(began).Seconds(), metric.WithAttributes(attrs...))
}

// SessionMissing counts a request, or a batch, of a revision with sessions that names none.
func (t *Telemetry) SessionMissing(version string) {
	if t == nil {
		return
	}
	n, ok := t.missing.Load(version)
	if !ok {
		n, _ = t.missing.LoadOrStore(version, new(atomic.Int64))
	}
	n.(*atomic.Int64).Add(1)
}

// observeMissing reports the counters of SessionMissing.
func (t *Telemetry) observeMissing(emit Emit) {
	t.missing.Range(func(version, n any) bool {
		emit(float64(n.(*atomic.Int64).Load()), AttrVersion.String(version.(string)))
		return true
	})
}

// ListenEnded records how long a subscription was open.
func (t *Telemetry) ListenEnded(began time.Time, version string) {
	if t == nil || t.listens == nil {
		return
	}
	t.listens.Record(context.Background(), time.Since(began).Seconds(), metric.WithAttributes(AttrVersion.String(version)))
}

// TaskBegan records how long a task waited for its turn to run.
func (t *Telemetry) TaskBegan(waited time.Duration) {
	if t != nil && t.queued != nil {
		t.queued.Record(context.Background(), waited.Seconds())
	}
}
