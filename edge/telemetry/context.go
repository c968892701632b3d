package telemetry

import (
	"encoding/json"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Bounds on the trace context of a client. W3C requires that everyone accepts these sizes.
const (
	maxTraceParent = 256
	maxTraceState  = 512
	maxBaggage     = 8192
)

// parentLen is the length of a traceparent of version 00.
const parentLen = 2 + 1 + 32 + 1 + 16 + 1 + 2

// FormatParent formats a span context as a W3C traceparent. It returns "" for an invalid one.
// ParseParent parses it.
func FormatParent(sc trace.SpanContext) string {
	if !sc.IsValid() {
		return ""
	}
	id, span := sc.TraceID(), sc.SpanID()
	var space [parentLen]byte
	b := append(space[:0], "00-"...)
	b = appendHex(b, id[:])
	b = append(b, '-')
	b = appendHex(b, span[:])
	b = append(b, '-')
	b = appendHex(b, []byte{byte(sc.TraceFlags() & trace.FlagsSampled)})
	return string(b)
}

func appendHex(dst, src []byte) []byte {
	const digits = "0123456789abcdef"
	for _, c := range src {
		dst = append(dst, digits[c>>4], digits[c&15])
	}
	return dst
}

// ParseParent parses a traceparent as a remote span context, and returns an invalid one if it
// cannot. An unknown version is parsed like version 00 (Trace Context, "Versioning").
func ParseParent(s string) trace.SpanContext {
	var none trace.SpanContext
	if len(s) < parentLen || len(s) > maxTraceParent || s[2] != '-' || s[35] != '-' || s[52] != '-' {
		return none
	}
	switch version := s[:2]; {
	case version == "ff" || !isHex(version):
		return none
	case len(s) > parentLen && (version == "00" || s[parentLen] != '-'):
		return none
	}
	var id trace.TraceID
	var span trace.SpanID
	if !unhex(id[:], s[3:35]) || !unhex(span[:], s[36:52]) || !isHex(s[53:55]) {
		return none
	}
	var flags trace.TraceFlags
	if strings.IndexByte("13579bdf", s[54]) >= 0 {
		flags = trace.FlagsSampled
	}
	sc := trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: span, TraceFlags: flags, Remote: true})
	if !sc.IsValid() {
		return none
	}
	return sc
}

func isHex(s string) bool {
	for i := range len(s) {
		if nibble(s[i]) > 15 {
			return false
		}
	}
	return true
}

// unhex decodes lower-case digits, twice as many as dst is long, and reports whether they are
// valid.
func unhex(dst []byte, s string) bool {
	for i := range dst {
		high, low := nibble(s[2*i]), nibble(s[2*i+1])
		if high > 15 || low > 15 {
			return false
		}
		dst[i] = high<<4 | low
	}
	return true
}

// nibble returns the value of a lower-case hexadecimal digit, or more than 15 for another byte.
func nibble(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	}
	return 16
}

// metaParent returns the span context in a request's `_meta`.
func metaParent(m *mcp.Meta) trace.SpanContext {
	if m == nil || m.More().TraceParent == nil {
		return trace.SpanContext{}
	}
	sent := m.More()
	text, _ := jsonrpc.Unquote(sent.TraceParent)
	sc := ParseParent(text)
	if !sc.IsValid() || sent.TraceState == nil {
		return sc
	}
	text, _ = jsonrpc.Unquote(sent.TraceState)
	if len(text) > maxTraceState {
		return sc
	}
	if ts, err := trace.ParseTraceState(text); err == nil {
		sc = sc.WithTraceState(ts)
	}
	return sc
}

// headerParent returns the span context of the HTTP request.
func headerParent(h mcp.Header) trace.SpanContext {
	if h == nil {
		return trace.SpanContext{}
	}
	return ParseParent(h.Get("Traceparent"))
}

// WithTrace sets the span context in the `_meta` of a params object that the edge sends. nil params
// are an empty object. An invalid span context changes nothing.
func WithTrace(params json.RawMessage, sc trace.SpanContext) json.RawMessage {
	parent := FormatParent(sc)
	if parent == "" {
		return params
	}
	member := `"` + mcp.MetaTraceParent + `":"` + parent + `"`
	if state := sc.TraceState().String(); state != "" {
		member += `,"` + mcp.MetaTraceState + `":` + string(jsonrpc.AppendString(nil, state))
	}
	meta := json.RawMessage("{" + member)
	rest := json.RawMessage{}
	_ = jsonrpc.Members(params, func(key string, value json.RawMessage) error {
		if key == "_meta" {
			return jsonrpc.Members(value, func(key string, value json.RawMessage) error {
				if key != mcp.MetaTraceParent && key != mcp.MetaTraceState {
					meta = appendMember(meta, key, value)
				}
				return nil
			})
		}
		rest = appendMember(rest, key, value)
		return nil
	})
	return append(append(append(json.RawMessage(`{"_meta":`), append(meta, '}')...), rest...), '}')
}

// appendMember appends a member to the members of an object.
func appendMember(dst json.RawMessage, key string, value json.RawMessage) json.RawMessage {
	dst = append(jsonrpc.AppendString(append(dst, ','), key), ':')
	return append(dst, value...)
}
