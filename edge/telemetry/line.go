package telemetry

import (
	"log/slog"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"

	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

// line is a record in the making, in the format of slog's own handlers but without the detour: a busy
// edge writes more of these than of everything else. It is used on the stack.
type line struct {
	json bool
	b    []byte
}

// begin writes what every record has.
func (l *line) begin(now time.Time, level slog.Level, message string) {
	if l.json {
		l.b = append(l.b, `{"time":"`...)
		l.b = now.AppendFormat(l.b, time.RFC3339Nano)
		l.b = append(l.b, `","level":"`...)
	} else {
		l.b = append(l.b, "time="...)
		l.b = now.AppendFormat(l.b, time.DateOnly+"T15:04:05.000Z07:00")
		l.b = append(l.b, " level="...)
	}
	l.b = append(l.b, level.String()...)
	if l.json {
		l.b = append(l.b, '"')
	}
	l.text("msg", message)
}

func (l *line) key(key string) {
	if l.json {
		l.b = append(append(append(l.b, `,"`...), key...), `":`...)
		return
	}
	l.b = append(append(append(l.b, ' '), key...), '=')
}

// text adds a string, unless it is empty. Keys are plain.
func (l *line) text(key, value string) {
	if value == "" {
		return
	}
	l.key(key)
	switch {
	case l.json:
		l.b = jsonrpc.AppendString(l.b, value)
	case plain(value):
		l.b = append(l.b, value...)
	default:
		l.b = strconv.AppendQuote(l.b, value)
	}
}

// plain says whether a value needs no quotes.
func plain(s string) bool {
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c <= ' ' || c == '"' || c == '=' || c == 0x7f {
				return false
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError || unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return false
		}
		i += n
	}
	return true
}

func (l *line) number(key string, n int64) {
	l.key(key)
	l.b = strconv.AppendInt(l.b, n, 10)
}

// duration is in nanoseconds in JSON, with its unit in text, as slog has it.
func (l *line) duration(key string, d time.Duration) {
	if l.json {
		l.number(key, int64(d))
		return
	}
	l.key(key)
	l.b = append(l.b, d.String()...)
}

func (l *line) span(sc trace.SpanContext) {
	if sc.IsValid() {
		l.text("trace_id", sc.TraceID().String())
		l.text("span_id", sc.SpanID().String())
	}
}

func (l *line) end() {
	if l.json {
		l.b = append(l.b, '}')
	}
	l.b = append(l.b, '\n')
}
