package telemetry

import (
	"encoding/json"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

func TestSampler(t *testing.T) {
	for _, c := range []struct{ name, arg, want string }{
		{"", "", sdktrace.ParentBased(sdktrace.AlwaysSample()).Description()},
		{"always_on", "", sdktrace.AlwaysSample().Description()},
		{"Always_Off", "", sdktrace.NeverSample().Description()},
		{"traceidratio", "0.25", sdktrace.TraceIDRatioBased(0.25).Description()},
		{"traceidratio", "", sdktrace.TraceIDRatioBased(1).Description()},
		{"parentbased_always_on", "", sdktrace.ParentBased(sdktrace.AlwaysSample()).Description()},
		{"parentbased_always_off", "", sdktrace.ParentBased(sdktrace.NeverSample()).Description()},
		{"parentbased_traceidratio", " 0.01 ", sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0.01)).Description()},
		{"parentbased_", "", ""},
		{"jaeger_remote", "", ""},
		{"traceidratio", "1.5", ""},
		{"traceidratio", "-0.1", ""},
		{"traceidratio", "NaN", ""},
		{"parentbased_traceidratio", "half", ""},
	} {
		env := environment{func(key string) (string, bool) {
			return map[string]string{"OTEL_TRACES_SAMPLER": c.name, "OTEL_TRACES_SAMPLER_ARG": c.arg}[key], true
		}}
		s, err := env.sampler()
		switch {
		case c.want == "" && (err == nil || !strings.Contains(err.Error(), strings.TrimSpace(c.name)) && !strings.Contains(err.Error(), c.arg)):
			t.Errorf("%q %q: %v, want an error that names it", c.name, c.arg, err)
		case c.want != "" && (err != nil || s.Description() != c.want):
			t.Errorf("%q %q: %v, %v, want %s", c.name, c.arg, s, err, c.want)
		}
	}
}

// An unsampled operation has ids: those of its client's trace, or its own, which the backend gets
// as not sampled.
func TestWhatIsNotSampledHasIDs(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	tel := newTelemetry(t, Options{
		SpanProcessors: []sdktrace.SpanProcessor{sdktrace.NewSimpleSpanProcessor(spans)}, Sampler: sdktrace.NeverSample(),
	})
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	var meta mcp.Meta
	meta.SetMore(mcp.MoreMeta{TraceParent: json.RawMessage(`"` + parent + `"`), TraceState: json.RawMessage(`"a=1"`)})
	for name, m := range map[string]mcp.Meta{"of the client's trace": meta, "of none": {}} {
		params := mcp.Params{Sent: mcp.Sent{Meta: m}}
		ctx, op := tel.Begin(t.Context(), &Request{Method: mcp.MethodToolsCall, Params: &params})
		sc := op.SpanContext()
		if !sc.IsValid() || sc.IsSampled() || trace.SpanContextFromContext(ctx).SpanID() != sc.SpanID() || trace.SpanFromContext(ctx).IsRecording() {
			t.Errorf("%s: %+v", name, sc)
		}
		if of := ParseParent(parent); m.More().TraceParent != nil && (sc.TraceID() != of.TraceID() || sc.SpanID() == of.SpanID() || sc.TraceState().String() != "a=1") {
			t.Errorf("%s: %+v", name, sc)
		}
		sent := tel.AppendMetadata(nil, ctx, &params.Meta)
		if len(sent) < 2 || sent[1] != FormatParent(sc) || !strings.HasSuffix(sent[1], "-00") {
			t.Errorf("%s: the backend gets %q", name, sent)
		}
		op.End(&Outcome{})
	}
	if n := len(spans.GetSpans()); n != 0 {
		t.Errorf("%d spans were exported", n)
	}
}

// With parentbased_ the parent decides, and the sampler only without a parent; otherwise the
// sampler decides.
func TestParentsAreFollowed(t *testing.T) {
	unsampled := strings.TrimSuffix(someParent, "1") + "0"
	for _, c := range []struct {
		sampler, parent string
		want            bool
	}{
		{"parentbased_always_on", unsampled, false},
		{"parentbased_always_on", "", true},
		{"parentbased_always_off", someParent, true},
		{"parentbased_always_off", "", false},
		{"always_on", unsampled, true},
		{"always_off", someParent, false},
	} {
		tel := newTelemetry(t, Options{
			SpanProcessors: []sdktrace.SpanProcessor{sdktrace.NewSimpleSpanProcessor(tracetest.NewNoopExporter())},
			Lookup: func(key string) (string, bool) {
				v, ok := map[string]string{"OTEL_TRACES_SAMPLER": c.sampler}[key]
				return v, ok
			},
		})
		params := mcp.Params{}
		if c.parent != "" {
			params.Meta.SetMore(mcp.MoreMeta{TraceParent: json.RawMessage(`"` + c.parent + `"`), TraceState: json.RawMessage(`"a=1"`)})
		}
		ctx, op := tel.Begin(t.Context(), &Request{Method: mcp.MethodToolsCall, Params: &params})
		sc := op.SpanContext()
		if sc.IsSampled() != c.want || trace.SpanFromContext(ctx).IsRecording() != c.want {
			t.Errorf("%s of %q: sampled %t, want %t", c.sampler, c.parent, sc.IsSampled(), c.want)
		}
		if of := ParseParent(c.parent); of.IsValid() && (sc.TraceID() != of.TraceID() || sc.SpanID() == of.SpanID() || sc.TraceState().String() != "a=1") {
			t.Errorf("%s of %q: continues as %+v", c.sampler, c.parent, sc)
		}
		op.End(&Outcome{})
	}
}

// The sampler gets the trace id that the span then has.
func TestTheSampledHaveTheirTraceID(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	asked := &recordingSampler{Sampler: sdktrace.TraceIDRatioBased(0.5)}
	tel := newTelemetry(t, Options{SpanProcessors: []sdktrace.SpanProcessor{sdktrace.NewSimpleSpanProcessor(spans)}, Sampler: asked})
	for range 64 {
		_, op := tel.Begin(t.Context(), &Request{Method: mcp.MethodToolsCall})
		if got, want := op.SpanContext().TraceID(), asked.ids[len(asked.ids)-1]; got != want {
			t.Fatalf("the trace is %s, the sampler was asked about %s", got, want)
		}
		op.End(&Outcome{})
	}
	if n := len(spans.GetSpans()); n == 0 || n == 64 || n != asked.wanted {
		t.Errorf("%d spans of 64 were exported, the sampler wanted %d", n, asked.wanted)
	}
}

// recordingSampler records its calls, and samples a number of spans.
type recordingSampler struct {
	sdktrace.Sampler
	ids    []trace.TraceID
	wanted int
}

func (s *recordingSampler) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	r := s.Sampler.ShouldSample(p)
	s.ids = append(s.ids, p.TraceID)
	if r.Decision == sdktrace.RecordAndSample {
		s.wanted++
	}
	return r
}
