package dev

import (
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/mcpedge/mcpedge/edge/transport/web"
)

const typeProtobuf = "application/x-protobuf"

// maxExport is the maximum size of one export request after decompression, in bytes.
const maxExport = 8 << 20

// export receives spans from other processes by OTLP/HTTP ("OTLP Specification", OTLP/HTTP) in
// protobuf encoding.
func (h *handler) export(w http.ResponseWriter, r *http.Request) {
	if t, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); t != typeProtobuf {
		http.Error(w, "send spans as "+typeProtobuf+": set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf", http.StatusUnsupportedMediaType)
		return
	}
	body, err := unpack(http.MaxBytesReader(w, r.Body, maxExport), r.Header.Get("Content-Encoding"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	web.WasRead(w)
	// ExportTraceServiceRequest and TracesData have the same encoding.
	data := new(tracev1.TracesData)
	if err := proto.Unmarshal(body, data); err != nil {
		http.Error(w, "the body is not an ExportTraceServiceRequest: "+err.Error(), http.StatusBadRequest)
		return
	}
	h.store.add(received(data, h.store.o.shown()))
	w.Header().Set("Content-Type", typeProtobuf) // an ExportTraceServiceResponse without members is empty
	w.WriteHeader(http.StatusOK)
}

func unpack(body io.Reader, encoding string) ([]byte, error) {
	switch strings.ToLower(encoding) {
	case "", "identity":
	case "gzip":
		packed, err := gzip.NewReader(body)
		if err != nil {
			return nil, fmt.Errorf("the body is not gzip: %w", err)
		}
		body = packed
	default:
		return nil, fmt.Errorf("Content-Encoding %.20q is not supported: use gzip or none", encoding)
	}
	out, err := io.ReadAll(io.LimitReader(body, maxExport+1))
	if err == nil && len(out) > maxExport {
		err = errors.New("the body is larger than " + strconv.Itoa(maxExport) + " bytes: export fewer spans at a time")
	}
	return out, err
}

func received(data *tracev1.TracesData, shown func(string) string) (out []*span) {
	for _, rs := range data.GetResourceSpans() {
		service := get(receivedAttrs(rs.GetResource().GetAttributes(), shown), "service.name")
		for _, ss := range rs.GetScopeSpans() {
			for _, from := range ss.GetSpans() {
				if s := receivedSpan(from, shown); s != nil {
					s.service, s.scope = service, shown(ss.GetScope().GetName())
					s.measure()
					out = append(out, s)
				}
			}
		}
	}
	return out
}

// receivedSpan converts a span. It returns nil if the span has no valid id or no end.
func receivedSpan(from *tracev1.Span, shown func(string) string) *span {
	id, ok := receivedKey(from.GetTraceId(), from.GetSpanId())
	if !ok || from.GetEndTimeUnixNano() == 0 {
		return nil
	}
	s := &span{
		key: id, name: shown(from.GetName()), kind: trace.ValidateSpanKind(trace.SpanKind(from.GetKind())),
		start: instant(from.GetStartTimeUnixNano()), end: instant(from.GetEndTimeUnixNano()),
		failed: from.GetStatus().GetCode() == tracev1.Status_STATUS_CODE_ERROR, message: shown(from.GetStatus().GetMessage()),
		attrs: receivedAttrs(from.GetAttributes(), shown),
	}
	if p := from.GetParentSpanId(); len(p) == len(s.parent) {
		copy(s.parent[:], p)
	}
	for _, e := range head(from.GetEvents()) {
		s.events = append(s.events, event{shown(e.GetName()), instant(e.GetTimeUnixNano()), receivedAttrs(e.GetAttributes(), shown)})
	}
	for _, l := range head(from.GetLinks()) {
		if to, ok := receivedKey(l.GetTraceId(), l.GetSpanId()); ok {
			s.links = append(s.links, link{to, receivedAttrs(l.GetAttributes(), shown)})
		}
	}
	return s
}

func receivedKey(t, s []byte) (k key, ok bool) {
	if len(t) != len(k.trace) || len(s) != len(k.span) {
		return k, false
	}
	copy(k.trace[:], t)
	copy(k.span[:], s)
	return k, k.trace.IsValid() && k.span.IsValid()
}

func instant(nanos uint64) time.Time { return time.Unix(0, int64(nanos)) } // #nosec G115 -- a time that overflows is shown as it is

func receivedAttrs(from []*commonv1.KeyValue, shown func(string) string) []attr {
	out := make([]attr, 0, min(len(from), maxParts))
	for _, kv := range head(from) {
		out = append(out, attr{shown(kv.GetKey()), shown(text(kv.GetValue(), 0))})
	}
	return out
}

// text formats a value. Lists and maps are formatted to a limited depth.
func text(v *commonv1.AnyValue, depth int) string {
	switch x := v.GetValue().(type) {
	case *commonv1.AnyValue_StringValue:
		return x.StringValue
	case *commonv1.AnyValue_BoolValue:
		return strconv.FormatBool(x.BoolValue)
	case *commonv1.AnyValue_IntValue:
		return strconv.FormatInt(x.IntValue, 10)
	case *commonv1.AnyValue_DoubleValue:
		return strconv.FormatFloat(x.DoubleValue, 'g', -1, 64)
	case *commonv1.AnyValue_BytesValue:
		return base64.StdEncoding.EncodeToString(x.BytesValue)
	}
	if depth == 4 {
		return "…"
	}
	var parts []string
	for _, e := range head(v.GetArrayValue().GetValues()) {
		parts = append(parts, text(e, depth+1))
	}
	for _, kv := range head(v.GetKvlistValue().GetValues()) {
		parts = append(parts, kv.GetKey()+": "+text(kv.GetValue(), depth+1))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
