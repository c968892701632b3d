package dev

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// span is a copy of a span. It is immutable once it is in a Store.
type span struct {
	key     key
	parent  trace.SpanID // zero for a root
	name    string
	kind    trace.SpanKind
	service string
	scope   string
	start   time.Time
	end     time.Time // zero while it runs
	failed  bool
	message string
	attrs   []attr
	events  []event
	links   []link
	bytes   int
}

// key identifies a span.
type key struct {
	trace trace.TraceID
	span  trace.SpanID
}

func (k key) String() string { return k.trace.String() + "-" + k.span.String() }

// parseKey parses the result of key.String.
func parseKey(s string) (k key, ok bool) {
	t, sp, _ := strings.Cut(s, "-")
	var err, err2 error
	k.trace, err = trace.TraceIDFromHex(t)
	k.span, err2 = trace.SpanIDFromHex(sp)
	return k, err == nil && err2 == nil
}

type attr struct{ key, value string }

type event struct {
	name  string
	at    time.Time
	attrs []attr
}

type link struct {
	to    key
	attrs []attr
}

// get returns the value of an attribute, or "".
func get(attrs []attr, name attribute.Key) string {
	for i := range attrs {
		if attrs[i].key == string(name) {
			return attrs[i].value
		}
	}
	return ""
}

func (s *span) get(name attribute.Key) string { return get(s.attrs, name) }

// The limits of one stored span, beside those of the SDK that made it.
const (
	maxValue = 32 << 10 // bytes of an attribute's value
	maxParts = 256      // attributes, events and links, each
)

// overhead is the approximate size of a span, an attribute, an event or a link without its strings.
const overhead = 64

// copySpan copies a span of the SDK, which may still run. shown makes its texts those of the page.
func copySpan(from sdktrace.ReadOnlySpan, shown func(string) string) *span {
	sc := from.SpanContext()
	s := &span{
		key: key{sc.TraceID(), sc.SpanID()}, parent: from.Parent().SpanID(),
		name: shown(from.Name()), kind: from.SpanKind(), scope: from.InstrumentationScope().Name,
		start: from.StartTime(), end: from.EndTime(),
		failed: from.Status().Code == codes.Error, message: shown(from.Status().Description),
		attrs: copiedAttrs(from.Attributes(), shown),
	}
	if r := from.Resource(); r != nil {
		v, _ := r.Set().Value("service.name")
		s.service = shown(v.AsString())
	}
	for _, e := range head(from.Events()) {
		s.events = append(s.events, event{shown(e.Name), e.Time, copiedAttrs(e.Attributes, shown)})
	}
	for _, l := range head(from.Links()) {
		s.links = append(s.links, link{key{l.SpanContext.TraceID(), l.SpanContext.SpanID()}, copiedAttrs(l.Attributes, shown)})
	}
	s.measure()
	return s
}

func copiedAttrs(from []attribute.KeyValue, shown func(string) string) []attr {
	out := make([]attr, 0, min(len(from), maxParts))
	for _, kv := range head(from) {
		out = append(out, attr{shown(string(kv.Key)), shown(kv.Value.String())})
	}
	return out
}

// head returns the first maxParts elements of a list.
func head[T any](list []T) []T { return list[:min(len(list), maxParts)] }

// clip shortens a value to maxValue, notes that at its end, and replaces invalid UTF-8.
func clip(s string) string {
	if len(s) > maxValue {
		cut := maxValue
		for cut > maxValue-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "… (" + strconv.Itoa(len(s)-cut) + " bytes more)"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// measure estimates the memory of the span.
func (s *span) measure() {
	s.bytes = 4*overhead + len(s.name) + len(s.scope) + len(s.service) + len(s.message) + sizeOf(s.attrs)
	for i := range s.events {
		s.bytes += overhead + len(s.events[i].name) + sizeOf(s.events[i].attrs)
	}
	for i := range s.links {
		s.bytes += overhead + sizeOf(s.links[i].attrs)
	}
}

func sizeOf(attrs []attr) (n int) {
	for i := range attrs {
		n += overhead + len(attrs[i].key) + len(attrs[i].value)
	}
	return n
}
