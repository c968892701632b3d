package telemetry

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// accessLog writes one line per finished request.
type accessLog struct {
	log slog.Handler // nil discards lines
}

// newAccess makes one that writes to a logger, which may be nil. Lines to a Handler of this package
// are batched.
func newAccess(log *slog.Logger) *accessLog {
	if log == nil {
		return &accessLog{}
	}
	h := log.Handler()
	if ours, ok := h.(*Handler); ok {
		h = ours.batched()
	}
	return &accessLog{log: h}
}

func (a *accessLog) flush() {
	if h, ok := a.log.(*Handler); ok {
		h.Flush()
	}
}

// line logs how an operation ended: at info for a request, at debug for a notification, and at warn
// for a fault, with its cause. It logs names, never content.
func (a *accessLog) line(t *Telemetry, op *Operation, o *Outcome, took time.Duration) {
	level := slog.LevelInfo
	switch {
	case o.Kind.Fault():
		level = slog.LevelWarn
	case op.id.IsZero():
		level = slog.LevelDebug
	}
	ctx := context.Background() // the span's ids are among the attributes
	if a.log == nil || !a.log.Enabled(ctx, level) {
		return
	}
	var space [19]slog.Attr
	attrs := append(space[:0], slog.String("method", string(op.series.method)))
	add := func(key, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(key, value))
		}
	}
	add("target", op.asked)
	add("shown", op.shown)
	add("via", op.via)
	add("task", op.task)
	add("outcome", o.String())
	attrs = append(attrs, slog.Float64("duration", seconds(took)))
	if o.Code != 0 {
		attrs = append(attrs, slog.Int("code", o.Code))
	}
	add("error", a.cause(o))
	add("reason", a.reason(o))
	add("call", op.call)
	add("backend", cmp.Or(op.backend, o.Backend))
	add("subject", op.subject)
	if op.from.IsValid() {
		add("address", op.from.String())
	}
	add("set", op.series.set)
	add("session", op.session)
	add("client", op.clientName)
	add("version", op.series.version)
	add("replica", t.replica)
	if sc := op.SpanContext(); sc.IsValid() {
		add("trace_id", sc.TraceID().String())
		add("span_id", sc.SpanID().String())
	}
	r := slog.NewRecord(time.Now(), level, "request", 0)
	r.AddAttrs(attrs...)
	_ = a.log.Handle(ctx, r)
}

// task logs how a task ended: at info, and at warn for a fault, with its cause.
func (a *accessLog) task(t *Telemetry, d *Audited, o *Outcome, took time.Duration) {
	level := slog.LevelInfo
	if o.Kind.Fault() {
		level = slog.LevelWarn
	}
	ctx := context.Background()
	if a.log == nil || !a.log.Enabled(ctx, level) {
		return
	}
	r := slog.NewRecord(time.Now(), level, "task ended", 0)
	add := func(key, value string) {
		if value != "" {
			r.AddAttrs(slog.String(key, value))
		}
	}
	add("method", string(d.Method))
	add("target", a.name(d.Target))
	add("task", d.Task)
	add("outcome", o.String())
	r.AddAttrs(slog.Float64("duration", seconds(took)))
	if o.Code != 0 {
		r.AddAttrs(slog.Int("code", o.Code))
	}
	add("error", a.cause(o))
	add("call", d.Call)
	add("set", d.Set)
	add("backend", d.Backend)
	add("subject", d.Principal.Subject)
	add("replica", t.replica)
	if d.Trace.IsValid() {
		add("trace_id", d.Trace.TraceID().String())
	}
	_ = a.log.Handle(ctx, r)
}

const (
	// maxCause bounds a cause, in bytes: a backend may have written it.
	maxCause = 1 << 10
	// maxAsked bounds a name that a client sent, in bytes.
	maxAsked = 256
)

// targetOf returns the name in a request: its target, or the reference of a completion.
func targetOf(p *mcp.Params) (name string) {
	if p.HasTarget || p.Ref() == nil {
		return p.Target
	}
	_ = jsonrpc.Members(p.Ref(), func(key string, value json.RawMessage) error {
		if key == "name" || key == "uri" {
			name, _ = jsonrpc.Unquote(value)
		}
		return nil
	})
	return name
}

// reason returns which rule, scope, quota or bound refused a request, as in the client's error if
// that names it; empty means that none did.
func (a *accessLog) reason(o *Outcome) string {
	if o.Reason != "" {
		return a.cut(o.Reason)
	}
	if o.Cause == nil && (o.Kind == mcp.KindForbidden || o.Kind == mcp.KindLimit) { // with a cause, a backend wrote it
		return a.cut(o.Message)
	}
	return ""
}

// cause returns the text of the cause, bounded; empty means none.
func (a *accessLog) cause(o *Outcome) string {
	if o.Cause == nil {
		return ""
	}
	return a.cut(o.Cause.Error())
}

// cut bounds the text of a cause. It replaces secrets first: a half of one would not be found.
func (a *accessLog) cut(text string) string { return cutRedacted(text, maxCause, a.redaction()) }

// name bounds a name that a client sent. It replaces secrets first.
func (a *accessLog) name(text string) string {
	if len(text) > maxAsked {
		if by := a.redaction().now(); by != nil {
			text = by(text)
		}
	}
	return mcp.Shown(text, maxAsked)
}

// redaction returns that of the lines, which may be nil.
func (a *accessLog) redaction() Redaction {
	switch h := a.log.(type) {
	case *Handler:
		return h.redaction
	case *redactingHandler:
		return h.redaction
	}
	return nil
}
