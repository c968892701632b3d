package capability

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"time"
)

// Logger returns a structured logger that sends to the client, as Call.Log does. Each record
// becomes an object with "msg" and the attributes, under the logger's name, which may be empty.
// Levels of slog become debug, info, notice (2 to 3), warning, error, and critical (12 and above).
func (c *Call) Logger(name string) *slog.Logger {
	return slog.New(&logHandler{call: c, name: name})
}

// logHandler formats records with slog's JSON handler. It does so only for records that the client
// wants.
type logHandler struct {
	call *Call
	name string
	with []func(slog.Handler) slog.Handler // attributes and groups, in order
}

var _ slog.Handler = (*logHandler)(nil)

// Enabled reports whether the client wants records of this level.
func (h *logHandler) Enabled(_ context.Context, l slog.Level) bool {
	return h.call.WantsLog(levelOf(l))
}

// Handle sends a record to the client.
func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	var b bytes.Buffer
	var printer slog.Handler = slog.NewJSONHandler(&b, &slog.HandlerOptions{ReplaceAttr: withoutLevel})
	for _, with := range h.with {
		printer = with(printer)
	}
	level := levelOf(r.Level)
	r.Time = time.Time{} // omitted
	if err := printer.Handle(ctx, r); err != nil {
		return err
	}
	h.call.Log(level, h.name, json.RawMessage(bytes.TrimSpace(b.Bytes())))
	return nil
}

// WithAttrs returns a handler that adds attributes to each record.
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.then(func(p slog.Handler) slog.Handler { return p.WithAttrs(attrs) })
}

// WithGroup returns a handler that puts later attributes into a group.
func (h *logHandler) WithGroup(name string) slog.Handler {
	return h.then(func(p slog.Handler) slog.Handler { return p.WithGroup(name) })
}

func (h *logHandler) then(with func(slog.Handler) slog.Handler) slog.Handler {
	return &logHandler{call: h.call, name: h.name, with: append(slices.Clone(h.with), with)}
}

// withoutLevel omits the record's level, which has its own field.
func withoutLevel(groups []string, a slog.Attr) slog.Attr {
	if _, level := a.Value.Any().(slog.Level); level && len(groups) == 0 && a.Key == slog.LevelKey {
		return slog.Attr{}
	}
	return a
}

func levelOf(l slog.Level) LogLevel {
	switch {
	case l >= 12:
		return LevelCritical
	case l >= slog.LevelError:
		return LevelError
	case l >= slog.LevelWarn:
		return LevelWarning
	case l >= 2:
		return LevelNotice
	case l >= slog.LevelInfo:
		return LevelInfo
	}
	return LevelDebug
}
