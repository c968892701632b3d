package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// sampler is the one that OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG name; unset: every trace whose
// parent is sampled or which has none. It fails for a name that is none of those below.
func (e environment) sampler() (sdktrace.Sampler, error) {
	name := cmp.Or(strings.ToLower(e.get("OTEL_TRACES_SAMPLER")), "parentbased_always_on")
	kind, ofParent := strings.CutPrefix(name, "parentbased_")
	var s sdktrace.Sampler
	switch kind {
	case "always_on":
		s = sdktrace.AlwaysSample()
	case "always_off":
		s = sdktrace.NeverSample()
	case "traceidratio":
		ratio := 1.0
		if arg := e.get("OTEL_TRACES_SAMPLER_ARG"); arg != "" {
			var err error
			if ratio, err = strconv.ParseFloat(arg, 64); err != nil || !(0 <= ratio && ratio <= 1) {
				return nil, fmt.Errorf("telemetry: OTEL_TRACES_SAMPLER_ARG is %q: want the part of traces to sample, 0 to 1", arg)
			}
		}
		s = sdktrace.TraceIDRatioBased(ratio)
	default:
		return nil, fmt.Errorf("telemetry: OTEL_TRACES_SAMPLER is %q: want always_on, always_off or traceidratio, "+
			"or one of them behind parentbased_", name)
	}
	if ofParent {
		s = sdktrace.ParentBased(s)
	}
	return s, nil
}

// begin begins a span where the sampler wants one; else the span is nil, and there are ids to go on with.
// Most operations of a busy edge need no more than those, which take a fraction of what a span of the SDK
// does. The SDK asks the sampler again, about the same trace.
func (t *Telemetry) begin(ctx context.Context, parent trace.SpanContext, name string, kind trace.SpanKind) (context.Context, trace.Span, trace.SpanContext) {
	id, above := parent.TraceID(), context.Background()
	if parent.IsValid() {
		above = trace.ContextWithSpanContext(above, parent)
	} else {
		id = newTraceID()
	}
	result := t.sampler.ShouldSample(sdktrace.SamplingParameters{ParentContext: above, TraceID: id, Name: name, Kind: kind})
	if result.Decision == sdktrace.Drop {
		sc := trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: id, SpanID: newSpanID(), TraceFlags: parent.TraceFlags() &^ trace.FlagsSampled, TraceState: result.Tracestate,
		})
		return trace.ContextWithSpanContext(ctx, sc), nil, sc
	}
	ctx = promise(trace.ContextWithSpanContext(ctx, parent), id, trace.SpanID{})
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(kind))
	return ctx, span, span.SpanContext()
}
