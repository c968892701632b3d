package telemetry

import (
	"context"
	"crypto/sha256"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// SessionPrint identifies a session in spans and logs: the first 64 bits of its id's SHA-256, in
// hexadecimal. The id itself gives an anonymous caller access to the session.
func SessionPrint(id string) string {
	if id == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(id))
	return string(appendHex(make([]byte, 0, 16), sum[:8]))
}

// SessionEnded records the lifetime of a session that its client ended.
func (t *Telemetry) SessionEnded(began time.Time, version string, pipe bool) {
	if t == nil || t.sessions == nil || began.IsZero() {
		return
	}
	attrs := append([]attribute.KeyValue{AttrVersion.String(version)}, transport(pipe)...)
	t.sessions.Record(context.Background(), time.Since(began).Seconds(), metric.WithAttributes(attrs...))
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
