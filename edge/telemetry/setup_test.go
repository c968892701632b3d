package telemetry

import (
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// env sets variables of this process, which the exporters read, and returns what looks them up.
func env(t *testing.T, pairs ...string) func(string) (string, bool) {
	t.Helper()
	set := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		set[pairs[i]] = pairs[i+1]
		t.Setenv(pairs[i], pairs[i+1])
	}
	return func(k string) (string, bool) { v, ok := set[k]; return v, ok }
}

func TestEnvironment(t *testing.T) {
	const endpoint, closed = "OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1"
	for name, c := range map[string]struct {
		env     []string
		tracing bool
		err     string
	}{
		"nothing":         {nil, false, ""},
		"empty":           {[]string{"OTEL_TRACES_EXPORTER", " ", endpoint, ""}, false, ""},
		"console":         {[]string{"OTEL_TRACES_EXPORTER", "console"}, true, ""},
		"an endpoint":     {[]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", closed}, true, ""},
		"none":            {[]string{"OTEL_TRACES_EXPORTER", "none", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", closed}, false, ""},
		"disabled":        {[]string{"OTEL_SDK_DISABLED", "true", "OTEL_TRACES_EXPORTER", "console"}, false, ""},
		"prometheus":      {[]string{"OTEL_METRICS_EXPORTER", "prometheus"}, false, ""},
		"unknown traces":  {[]string{"OTEL_TRACES_EXPORTER", "pigeon"}, false, "OTEL_TRACES_EXPORTER"},
		"unknown metrics": {[]string{"OTEL_METRICS_EXPORTER", "pigeon"}, false, "OTEL_METRICS_EXPORTER"},
		"bad resource":    {[]string{"OTEL_RESOURCE_ATTRIBUTES", "nonsense"}, false, "OTEL_RESOURCE_ATTRIBUTES"},
	} {
		t.Run(name, func(t *testing.T) {
			tel, err := New(t.Context(), Options{Lookup: env(t, c.env...)})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("error %v, want one that names %s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if tel.Tracing() != c.tracing || (tel.Conn(nil) != nil) != c.tracing {
				t.Errorf("tracing %t, want %t", tel.Tracing(), c.tracing)
			}
			_ = tel.Shutdown(t.Context()) // there is no receiver
		})
	}
}

// The environment's description of the process overrides the edge's.
func TestResource(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	for want, pairs := range map[string][]string{
		"mcpedge": nil, "travel": {"OTEL_SERVICE_NAME", "travel"}, "desk": {"OTEL_RESOURCE_ATTRIBUTES", "service.name=desk"},
	} {
		t.Run(want, func(t *testing.T) {
			tel := newTelemetry(t, Options{Lookup: env(t, pairs...), Replica: "r1", Version: "v1",
				SpanProcessors: []sdktrace.SpanProcessor{sdktrace.NewSimpleSpanProcessor(spans)}})
			call(t.Context(), tel)
			set := attribute.NewSet(spans.GetSpans()[len(spans.GetSpans())-1].Resource.Attributes()...)
			for key, want := range map[attribute.Key]string{"service.name": want, "service.instance.id": "r1", "service.version": "v1"} {
				if got, _ := set.Value(key); got.AsString() != want {
					t.Errorf("%s is %q, want %q", key, got.AsString(), want)
				}
			}
		})
	}
}

// A nil Telemetry observes nothing and breaks nothing.
func TestNil(t *testing.T) {
	var tel *Telemetry
	call(t.Context(), tel)
	tel.Hit(BoundBody)
	tel.SessionEnded(time.Now(), "", false)
	tel.ListenEnded(time.Now(), "")
	tel.RedisCalled(t.Context(), "get", false, 1)
	tel.Answered(&Sent{})
	tel.Stored(ParseParent(someParent), "x", time.Now(), nil)
	tel.Resumed(nil, ParseParent(someParent), "", 1, time.Now())
	if tel.Tracing() || tel.Content() || tel.Conn(nil) != nil || tel.Observe("x", nil) != nil || tel.Flush(t.Context()) != nil || tel.Shutdown(t.Context()) != nil {
		t.Error("something is observed")
	}
	if families, err := tel.Gatherer().Gather(); err != nil || len(families) != 0 {
		t.Errorf("%v %v", families, err)
	}
	_, span := tel.TracerProvider().Tracer("x").Start(t.Context(), "x")
	if span.IsRecording() {
		t.Error("a span is recorded")
	}
}
