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

// sampler returns the sampler that OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG name. By default
// it samples every trace whose parent is sampled or that has no parent. It fails for a name that is
// not listed below; the SDK would log and use another sampler.
func (e environment) sampler() (s sdktrace.Sampler, err error) {
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
				return nil, fmt.Errorf("telemetry: OTEL_TRACES_SAMPLER_ARG is %q: want the part of traces to sample, 0 to 1", arg)
			}
		}
		s = sdktrace.TraceIDRatioBased(ratio)
	default:
		return nil, fmt.Errorf("telemetry: OTEL_TRACES_SAMPLER is %q: want always_on, always_off or traceidratio, "+
			"or one of them behind parentbased_", name)
	}
	if follows {
		s = sdktrace.ParentBased(s)
	}
	return s, nil
}

// begin begins a span. If it is not sampled, the span is nil, but the span context has ids to pass
// on.
func (t *Telemetry) begin(ctx context.Context, parent trace.SpanContext, name string, kind trace.SpanKind, began time.Time) (context.Context, trace.Span, trace.SpanContext) {
	options := []trace.SpanStartOption{trace.WithSpanKind(kind)}
	if !began.IsZero() {
		options = append(options, trace.WithTimestamp(began))
	}
	ctx, span := t.tracer.Start(trace.ContextWithSpanContext(ctx, parent), name, options...)
	if !span.IsRecording() {
		return ctx, nil, span.SpanContext()
	}
	return ctx, span, span.SpanContext()
}
