package telemetry

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Redaction returns what now replaces secrets in texts, or nil if nothing does. It is called for each record or batch of spans, and may be
// nil itself. It is safe for concurrent use.
type Redaction func() func(text string) string

// now returns what replaces secrets now, or nil.
func (r Redaction) now() func(string) string {
	if r == nil {
		return nil
	}
	return r()
}

// redacting is an exporter of spans without secrets.
type redacting struct {
	sdktrace.SpanExporter
	redaction Redaction
}

// ExportSpans implements sdktrace.SpanExporter.
func (e *redacting) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if replace := e.redaction.now(); replace != nil {
		masked := make([]sdktrace.ReadOnlySpan, len(spans))
		for i, s := range spans {
			masked[i] = &redactedSpan{s, replace}
		}
		spans = masked
	}
	return e.SpanExporter.ExportSpans(ctx, spans)
}

// redactedSpan is a span without secrets in its name, its attributes, its events, its links and its description.
type redactedSpan struct {
	sdktrace.ReadOnlySpan
	replace func(string) string
}

// Name implements sdktrace.ReadOnlySpan.
func (s *redactedSpan) Name() string { return s.replace(s.ReadOnlySpan.Name()) }

// Attributes implements sdktrace.ReadOnlySpan.
func (s *redactedSpan) Attributes() []attribute.KeyValue {
	return s.attributes(s.ReadOnlySpan.Attributes())
}

// Events implements sdktrace.ReadOnlySpan.
func (s *redactedSpan) Events() []sdktrace.Event {
	events := append([]sdktrace.Event(nil), s.ReadOnlySpan.Events()...)
	for i := range events {
		events[i].Name, events[i].Attributes = s.replace(events[i].Name), s.attributes(events[i].Attributes)
	}
	return events
}

// Links implements sdktrace.ReadOnlySpan.
func (s *redactedSpan) Links() []sdktrace.Link {
	links := append([]sdktrace.Link(nil), s.ReadOnlySpan.Links()...)
	for i := range links {
		links[i].Attributes = s.attributes(links[i].Attributes)
	}
	return links
}

// Status implements sdktrace.ReadOnlySpan.
func (s *redactedSpan) Status() sdktrace.Status {
	status := s.ReadOnlySpan.Status()
	status.Description = s.replace(status.Description)
	return status
}

func (s *redactedSpan) attributes(from []attribute.KeyValue) []attribute.KeyValue {
	out := append([]attribute.KeyValue(nil), from...)
	for i := range out {
		switch v := out[i].Value; v.Type() {
		case attribute.STRING:
			out[i].Value = attribute.StringValue(s.replace(v.AsString()))
		case attribute.INT64, attribute.FLOAT64:
			if text := v.String(); s.replace(text) != text {
				out[i].Value = attribute.StringValue(s.replace(text))
			}
		case attribute.STRINGSLICE:
			texts := v.AsStringSlice()
			for k := range texts {
				texts[k] = s.replace(texts[k])
			}
			out[i].Value = attribute.StringSliceValue(texts)
		}
	}
	return out
}

// RedactedLog returns a logger to the same handler that replaces secrets in the message and the attributes of each record.
func RedactedLog(log *slog.Logger, by Redaction) *slog.Logger {
	switch h := log.Handler().(type) {
	case *Handler:
		own := *h
		own.redaction = by
		return slog.New(&own)
	case *redactingHandler:
		return slog.New(&redactingHandler{h.Handler, by})
	}
	return slog.New(&redactingHandler{log.Handler(), by})
}

// redactingHandler is a handler of records without secrets.
type redactingHandler struct {
	slog.Handler
	redaction Redaction
}

// Handle implements slog.Handler.
func (h *redactingHandler) Handle(ctx context.Context, r slog.Record) error {
	if replace := h.redaction.now(); replace != nil {
		r = redactRecord(r, replace)
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h *redactingHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if replace := h.redaction.now(); replace != nil {
		attrs = redactAttrs(append([]slog.Attr(nil), attrs...), replace)
	}
	return &redactingHandler{h.Handler.WithAttrs(attrs), h.redaction}
}

// WithGroup implements slog.Handler.
func (h *redactingHandler) WithGroup(name string) slog.Handler {
	return &redactingHandler{h.Handler.WithGroup(name), h.redaction}
}

// redactRecord returns a record of the log without secrets.
func redactRecord(r slog.Record, replace func(string) string) slog.Record {
	attrs := make([]slog.Attr, 0, r.NumAttrs())
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, a)
		return true
	})
	out := slog.NewRecord(r.Time, r.Level, replace(r.Message), r.PC)
	out.AddAttrs(redactAttrs(attrs, replace)...)
	return out
}

// redactAttrs replaces secrets in attributes, in place.
func redactAttrs(attrs []slog.Attr, replace func(string) string) []slog.Attr {
	for i := range attrs {
		attrs[i].Value = redactValue(attrs[i].Value.Resolve(), replace)
	}
	return attrs
}

// redactValue returns a value without secrets. One that is no text becomes one if it has a secret.
func redactValue(v slog.Value, replace func(string) string) slog.Value {
	switch v.Kind() {
	case slog.KindString:
		return slog.StringValue(replace(v.String()))
	case slog.KindGroup:
		return slog.GroupValue(redactAttrs(append([]slog.Attr(nil), v.Group()...), replace)...)
	case slog.KindInt64, slog.KindUint64, slog.KindFloat64:
		if text := v.String(); replace(text) != text {
			return slog.StringValue(replace(text))
		}
	case slog.KindAny:
		return redactAny(v, replace)
	}
	return v
}

// redactAny is redactValue for a value of another type, in every form in which a handler may print it.
func redactAny(v slog.Value, replace func(string) string) slog.Value {
	var text string
	switch x := v.Any().(type) {
	case nil:
		return v
	case error:
		text = x.Error()
	case []byte:
		text = string(x)
	default:
		text = fmt.Sprintf("%+v", x)
		raw, err := json.Marshal(x)
		if err == nil && replace(string(raw)) != string(raw) {
			return slog.StringValue(replace(string(raw)))
		}
	}
	if masked := replace(text); masked != text {
		return slog.StringValue(masked)
	}
	return v
}
