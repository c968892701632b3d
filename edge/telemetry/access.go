package telemetry

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// access writes one line per finished request.
type access struct {
	log *slog.Logger // nil: nowhere
	// direct is the log's handler, if it is one of ours; nil: another.
	direct *Handler
}

func newAccess(log *slog.Logger) *access {
	a := &access{log: log}
	if log != nil {
		if h, ok := log.Handler().(*Handler); ok && h.bare {
			a.direct = h
		}
	}
	return a
}

func (a *access) flush() {
	if a.direct != nil {
		a.direct.Flush()
	}
}

// line says how an operation ended: at info for a request, at debug for a notification, and at warn where
// it ended with a fault, with its cause. It holds names, never content.
func (a *access) line(t *Telemetry, op *Operation, o *Outcome, took time.Duration) {
	level := slog.LevelInfo
	switch {
	case o.Kind.Fault():
		level = slog.LevelWarn
	case op.id.IsZero():
		level = slog.LevelDebug
	}
	if a.log == nil || !a.log.Enabled(context.Background(), level) {
		return
	}
	if a.direct == nil {
		a.record(t, op, o, took, level)
		return
	}
	space := spaces.Get().(*[]byte)
	l := line{json: a.direct.json, b: (*space)[:0]}
	l.begin(time.Now(), level, "request")
	l.text("method", string(op.series.method))
	l.text("target", op.series.target)
	l.text("outcome", o.String())
	l.duration("duration", took)
	if o.Code != 0 {
		l.number("code", int64(o.Code))
	}
	l.text("error", o.cause())
	l.text("backend", op.backend)
	l.text("session", op.session)
	l.text("client", op.clientName)
	l.text("version", op.series.version)
	l.text("replica", t.replica)
	l.span(op.SpanContext())
	l.end()
	_, _ = a.direct.out.Write(l.b)
	*space = l.b
	spaces.Put(space)
}

// maxCause bounds a cause, in bytes: a backend may have written it.
const maxCause = 1 << 10

// cause is the text behind the message, with a bound; empty: there is none.
func (o *Outcome) cause() string {
	if o.Cause == nil {
		return ""
	}
	return cut(o.Cause.Error(), maxCause)
}

// spaces are for lines in the making. What is in a line is bounded, and so are they.
var spaces = sync.Pool{New: func() any { return new(make([]byte, 0, 512)) }}

// record is the same for a handler that is not ours.
func (a *access) record(t *Telemetry, op *Operation, o *Outcome, took time.Duration, level slog.Level) {
	attrs := []slog.Attr{slog.String("method", string(op.series.method))}
	add := func(key, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(key, value))
		}
	}
	add("target", op.series.target)
	add("outcome", o.String())
	attrs = append(attrs, slog.Duration("duration", took))
	if o.Code != 0 {
		attrs = append(attrs, slog.Int("code", o.Code))
	}
	add("error", o.cause())
	add("backend", op.backend)
	add("session", op.session)
	add("client", op.clientName)
	add("version", op.series.version)
	add("replica", t.replica)
	if sc := op.SpanContext(); sc.IsValid() {
		add("trace_id", sc.TraceID().String())
		add("span_id", sc.SpanID().String())
	}
	a.log.LogAttrs(context.Background(), level, "request", attrs...)
}
