package telemetry

import (
	"context"
	"log/slog"
	"time"
)

// access writes one line per finished request.
type access struct {
	log *slog.Logger // nil: nowhere
	// hurry writes what waits; may be nil.
	hurry func()
}

func newAccess(log *slog.Logger) *access {
	if log == nil {
		return &access{}
	}
	if h, ok := log.Handler().(*Handler); ok {
		return &access{log: slog.New(h.patient()), hurry: h.Flush}
	}
	return &access{log: log}
}

func (a *access) flush() {
	if a.hurry != nil {
		a.hurry()
	}
}

// line says how an operation ended: at info for a request, at debug for a notification. It holds names,
// never content.
func (a *access) line(t *Telemetry, op *Operation, o *Outcome, took time.Duration) {
	level := slog.LevelInfo
	if op.id.IsZero() {
		level = slog.LevelDebug
	}
	ctx := context.Background()
	if a.log == nil || !a.log.Enabled(ctx, level) {
		return
	}
	var space [11]slog.Attr
	attrs := append(space[:0], slog.String("method", string(op.series.method)))
	add := func(key, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(key, value))
		}
	}
	add("target", op.series.target)
	attrs = append(attrs, slog.String("outcome", o.String()), slog.Duration("duration", took))
	if o.Code != 0 {
		attrs = append(attrs, slog.Int("code", o.Code))
	}
	add("backend", op.backend)
	add("session", op.session)
	add("client", op.clientName)
	add("version", op.series.version)
	add("replica", t.replica)
	a.log.LogAttrs(op.context(), level, "request", attrs...)
}
