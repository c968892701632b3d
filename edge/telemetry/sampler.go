package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// sampler is the one that OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG name; unset: every trace whose
// parent is sampled or which has none. It follows where a span with a parent is sampled exactly if that is.
// It fails for a name that is none of those below.
func (e environment) sampler() (s sdktrace.Sampler, follows bool, err error) {
	name := cmp.Or(strings.ToLower(e.get("OTEL_TRACES_SAMPLER")), "parentbased_always_on")
	kind, follows := strings.CutPrefix(name, "parentbased_")
	switch kind {
	case "always_on":
		s = sdktrace.AlwaysSample()
	case "always_off":
		s = sdktrace.NeverSample()
	case "traceidratio":
		ratio := 1.0
		if arg := e.get("OTEL_TRACES_SAMPLER_ARG"); arg != "" {
			if ratio, err = strconv.ParseFloat(arg, 64); err != nil || !(0 <= ratio && ratio <= 1) {
				return nil, false, fmt.Errorf("telemetry: OTEL_TRACES_SAMPLER_ARG is %q: want the part of traces to sample, 0 to 1", arg)
			}
		}
		s = sdktrace.TraceIDRatioBased(ratio)
	default:
		return nil, false, fmt.Errorf("telemetry: OTEL_TRACES_SAMPLER is %q: want always_on, always_off or traceidratio, "+
			"or one of them behind parentbased_", name)
	}
	if follows {
		s = sdktrace.ParentBased(s)
	}
	return s, follows, nil
}

// begin begins a span where the sampler wants one; else the span is nil, and there are ids to go on with.
// Most operations of a busy edge need no more than those, which take a fraction of what a span of the SDK
// does. The SDK asks the sampler again, about the same trace.
func (t *Telemetry) begin(ctx context.Context, parent trace.SpanContext, name string, kind trace.SpanKind, began time.Time) (context.Context, trace.Span, trace.SpanContext) {
	id := parent.TraceID()
	if !parent.IsValid() {
		id = newTraceID()
	}
	if drop, state := t.drops(parent, id, name, kind); drop {
		sc := trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: id, SpanID: newSpanID(), TraceFlags: parent.TraceFlags() &^ trace.FlagsSampled, TraceState: state,
		})
		return trace.ContextWithSpanContext(ctx, sc), nil, sc
	}
	ctx = promise(trace.ContextWithSpanContext(ctx, parent), id, trace.SpanID{})
	options := []trace.SpanStartOption{trace.WithSpanKind(kind)}
	if !began.IsZero() {
		options = append(options, trace.WithTimestamp(began))
	}
	ctx, span := t.tracer.Start(ctx, name, options...)
	return ctx, span, span.SpanContext()
}

// drops says whether the sampler wants no span, and which state the trace then has. One that follows parents
// is asked only about what has none.
func (t *Telemetry) drops(parent trace.SpanContext, id trace.TraceID, name string, kind trace.SpanKind) (bool, trace.TraceState) {
	above := context.Background()
	if parent.IsValid() {
		if t.follows {
			return !parent.IsSampled(), parent.TraceState()
		}
		above = trace.ContextWithSpanContext(above, parent)
	}
	result := t.sampler.ShouldSample(sdktrace.SamplingParameters{ParentContext: above, TraceID: id, Name: name, Kind: kind})
	return result.Decision == sdktrace.Drop, result.Tracestate
}
