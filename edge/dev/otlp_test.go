package dev

import (
	"bytes"
	"compress/gzip"
	"context"
	"net/http"
	"strings"
	"testing"

	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"

	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// A backend in another process that exports to the edge by the standard environment is in the same
// waterfall.
func TestSpansOfAnotherProcess(t *testing.T) {
	s := NewStore(Options{})
	server := serve(t, s)
	ctx := context.Background()
	ctx, op := operation(ctx, tracer(t, s, "mcpedge", telemetry.Scope), "far", 1, at(0))
	ctx, out := tracer(t, s, "mcpedge", "otelgrpc").Start(ctx, "Call", trace.WithSpanKind(trace.SpanKindClient), at(1))

	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
	exporter, err := autoexport.NewSpanExporter(ctx)
	if err != nil {
		t.Fatal(err)
	}
	far := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "trips"))))
	remote := trace.ContextWithRemoteSpanContext(context.Background(), trace.SpanContextFromContext(ctx))
	_, in := far.Tracer("otelgrpc").Start(remote, "Call", trace.WithSpanKind(trace.SpanKindServer), at(2))
	in.AddEvent("found", at(3), trace.WithAttributes(attribute.Int("rows", 3), attribute.StringSlice("names", []string{"a", "b"})))
	in.SetStatus(codes.Error, "no seats")
	in.End(at(4))
	if err := far.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	out.End(at(5))
	op.End(at(6))

	w, _ := only(t, s)
	got := w.Spans[len(w.Spans)-1]
	if len(w.Spans) != 3 || got.Role != roleBackend || got.Service != "trips" || got.Depth != 2 || !got.Failed || got.Message != "no seats" || got.Start != 2e3 || got.Duration != 2e3 {
		t.Fatalf("%+v", w.Spans)
	}
	if e := got.Events; len(e) != 1 || e[0].Name != "found" || e[0].At != 3e3 || e[0].Attributes[0][1] != "3" || !strings.Contains(e[0].Attributes[1][1], "a") {
		t.Errorf("%+v", got.Events)
	}
}

func TestExportsThatAreRefused(t *testing.T) {
	server := serve(t, NewStore(Options{}))
	zipped := func(data []byte) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write(data)
		_ = w.Close()
		return b.Bytes()
	}
	for name, c := range map[string]struct {
		kind, encoding string
		body           []byte
		status         int
	}{
		"nothing":          {typeProtobuf, "", nil, 200},
		"JSON":             {"application/json", "", []byte("{}"), 415},
		"no type":          {"", "", nil, 415},
		"garbage":          {typeProtobuf, "", []byte("\xff\xff\xff"), 400},
		"no gzip":          {typeProtobuf, "gzip", []byte("plain"), 400},
		"another encoding": {typeProtobuf, "br", nil, 400},
		"too large":        {typeProtobuf, "", make([]byte, maxExport+1), 400},
		"a bomb":           {typeProtobuf, "gzip", zipped(make([]byte, maxExport+1)), 400},
		"ids of no length": {typeProtobuf, "gzip", zipped([]byte{0x0a, 4, 0x12, 2, 0x12, 0}), 200},
	} {
		r, err := http.NewRequest(http.MethodPost, server.URL+"/v1/traces", bytes.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", c.kind)
		r.Header.Set("Content-Encoding", c.encoding)
		resp, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != c.status {
			t.Errorf("%s: status %s, want %d", name, resp.Status, c.status)
		}
	}
	var got listing
	if fetch(t, server, "/dev/calls", 200, &got); len(got.Calls) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestValuesAsText(t *testing.T) {
	deep := &commonv1.AnyValue{Value: &commonv1.AnyValue_StringValue{StringValue: "end"}}
	for range 100 {
		deep = &commonv1.AnyValue{Value: &commonv1.AnyValue_ArrayValue{ArrayValue: &commonv1.ArrayValue{Values: []*commonv1.AnyValue{deep}}}}
	}
	for want, v := range map[string]*commonv1.AnyValue{
		"true":      {Value: &commonv1.AnyValue_BoolValue{BoolValue: true}},
		"-7":        {Value: &commonv1.AnyValue_IntValue{IntValue: -7}},
		"0.5":       {Value: &commonv1.AnyValue_DoubleValue{DoubleValue: 0.5}},
		"AQI=":      {Value: &commonv1.AnyValue_BytesValue{BytesValue: []byte{1, 2}}},
		"[]":        nil,
		"[[[[…]]]]": deep,
		"[k: true]": {Value: &commonv1.AnyValue_KvlistValue{KvlistValue: &commonv1.KeyValueList{Values: []*commonv1.KeyValue{{Key: "k", Value: &commonv1.AnyValue{Value: &commonv1.AnyValue_BoolValue{BoolValue: true}}}}}}},
	} {
		if got := text(v, 0); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
}
