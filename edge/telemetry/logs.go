package telemetry

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Handler writes records to one writer, each with the replica, and with the trace and span of its
// context. The lines of requests wait for others, at most lineDelay, so that a busy edge does not
// make a system call for each; every other record is written at once, after the waiting lines.
type Handler struct {
	inner slog.Handler
	out   *lines
	// batch is whether records may wait for others, and have their durations in seconds.
	batch bool
	// replica is added to records. Empty adds none.
	replica string
	// redaction replaces secrets in records, and in attributes when they are added to the handler.
	redaction Redaction
}

var _ slog.Handler = (*Handler)(nil)

// NewHandler makes a handler that writes JSON or text, from a level that may change at any time.
// Durations are in seconds, as in metrics and the audit. Each record gets the name of the replica,
// unless that is empty.
func NewHandler(w io.Writer, json bool, level slog.Leveler, replica string) *Handler {
	h := &Handler{out: &lines{to: w}, replica: replica}
	o := &slog.HandlerOptions{Level: level}
	if json {
		h.inner = slog.NewJSONHandler(escaped{h.out}, o)
	} else {
		h.inner = slog.NewTextHandler(h.out, o)
	}
	return h
}

// escaped writes lines of JSON without the control characters that JSON allows in strings. Those of
// text have none.
type escaped struct{ to io.Writer }

// Write implements io.Writer.
func (e escaped) Write(p []byte) (int, error) {
	if _, err := e.to.Write(mcp.EscapeControls(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// seconds converts a duration to seconds, to the microsecond.
func seconds(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond).Microseconds()) / 1e6
}

// inSeconds converts durations in place to numbers of seconds. slog's ReplaceAttr would do so, too, but takes its slow path for each
// attribute of each request.
func inSeconds(attrs []slog.Attr) {
	for i := range attrs {
		switch v := attrs[i].Value.Resolve(); v.Kind() {
		case slog.KindDuration:
			attrs[i].Value = slog.Float64Value(seconds(v.Duration()))
		case slog.KindGroup:
			members := slices.Clone(v.Group())
			inSeconds(members)
			attrs[i].Value = slog.GroupValue(members...)
		}
	}
}

// hasDuration reports whether inSeconds would change an attribute.
func hasDuration(v slog.Value) bool {
	switch v = v.Resolve(); v.Kind() {
	case slog.KindDuration:
		return true
	case slog.KindGroup:
		return slices.ContainsFunc(v.Group(), func(a slog.Attr) bool { return hasDuration(a.Value) })
	}
	return false
}

// recordInSeconds returns the record with its durations in seconds.
func recordInSeconds(r slog.Record) slog.Record {
	found := false
	r.Attrs(func(a slog.Attr) bool {
		found = hasDuration(a.Value)
		return !found
	})
	if !found {
		return r
	}
	attrs := make([]slog.Attr, 0, r.NumAttrs())
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, a)
		return true
	})
	inSeconds(attrs)
	n := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	n.AddAttrs(attrs...)
	return n
}

// Enabled implements slog.Handler.
func (h *Handler) Enabled(ctx context.Context, l slog.Level) bool { return h.inner.Enabled(ctx, l) }

// Handle implements slog.Handler.
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	if !h.batch {
		r = recordInSeconds(r)
	}
	if replace := h.redaction.now(); replace != nil {
		r = redactRecord(r, replace)
	}
	if h.replica != "" {
		r.AddAttrs(slog.String("replica", h.replica))
	}
	if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
		r.AddAttrs(slog.String("trace_id", sc.TraceID().String()), slog.String("span_id", sc.SpanID().String()))
	}
	err := h.inner.Handle(ctx, r)
	if !h.batch {
		h.out.flush()
	}
	return err
}

// WithAttrs implements slog.Handler.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	attrs = slices.Clone(attrs)
	inSeconds(attrs)
	if replace := h.redaction.now(); replace != nil {
		attrs = redactAttrs(attrs, replace)
	}
	out := *h
	out.inner = h.inner.WithAttrs(attrs)
	return &out
}

// WithGroup implements slog.Handler.
func (h *Handler) WithGroup(name string) slog.Handler {
	out := *h
	out.inner = h.inner.WithGroup(name)
	return &out
}

// batched returns a handler for the same writer whose records, which have the replica, and durations
// in seconds, may wait for others.
func (h *Handler) batched() *Handler {
	return &Handler{inner: h.inner, out: h.out, batch: true, redaction: h.redaction}
}

// Flush writes the waiting lines.
func (h *Handler) Flush() { h.out.flush() }

const (
	// lineDelay is the longest that a line waits, lineBytes the most bytes that wait.
	lineDelay = 100 * time.Millisecond
	lineBytes = 32 << 10
)

// lines buffers lines. None is lost or reordered; a slow writer blocks the callers.
type lines struct {
	to    io.Writer
	mu    sync.Mutex
	buf   bytes.Buffer
	timer *time.Timer
	set   bool
}

// Write implements io.Writer; it takes whole lines.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, _ := l.buf.Write(p)
	if l.buf.Len() >= lineBytes {
		return n, l.drain()
	}
	switch {
	case l.set:
	case l.timer == nil:
		l.timer, l.set = time.AfterFunc(lineDelay, l.flush), true
	default:
		l.timer.Reset(lineDelay)
		l.set = true
	}
	return n, nil
}

func (l *lines) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.drain()
}

func (l *lines) drain() error {
	if l.set {
		l.timer.Stop()
		l.set = false
	}
	if l.buf.Len() == 0 {
		return nil
	}
	_, err := l.to.Write(l.buf.Bytes())
	l.buf.Reset()
	return err
}
