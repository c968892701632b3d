//go:build jaeger

package telemetry

import (
	"fmt"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// otlpTraces is spans in the JSON encoding of OTLP, in which ids are hexadecimal and 64-bit integers are strings.
type otlpTraces struct {
	ResourceSpans []struct {
		Resource   struct{ Attributes []otlpAttribute }
		ScopeSpans []struct {
			Scope struct{ Name string }
			Spans []otlpSpan
		}
	}
}

type otlpSpan struct {
	otlpContext
	ParentSpanID      string
	Name              string
	Kind              trace.SpanKind // numbered as OTLP does
	StartTimeUnixNano string
	Attributes        []otlpAttribute
	Events            []struct {
		Name       string
		Attributes []otlpAttribute
	}
	Links []struct {
		otlpContext
		Attributes []otlpAttribute
	}
	Status struct {
		Message string
		Code    int // 0 unset, 1 ok, 2 error
	}
}

type otlpContext struct{ TraceID, SpanID string }

type otlpAttribute struct {
	Key   string
	Value struct {
		StringValue *string
		IntValue    *string
		DoubleValue *float64
		BoolValue   *bool
	}
}

// stubs are the spans as the SDK's own tests have them.
func (o *otlpTraces) stubs() (all tracetest.SpanStubs, err error) {
	for _, r := range o.ResourceSpans {
		attributes, err := attributesOf(r.Resource.Attributes)
		if err != nil {
			return nil, err
		}
		of := resource.NewSchemaless(attributes...)
		for _, scope := range r.ScopeSpans {
			for i := range scope.Spans {
				s, err := scope.Spans[i].stub()
				if err != nil {
					return nil, fmt.Errorf("the span %q: %w", scope.Spans[i].Name, err)
				}
				s.Resource, s.InstrumentationScope = of, instrumentation.Scope{Name: scope.Scope.Name}
				all = append(all, s)
			}
		}
	}
	return all, nil
}

func (o *otlpSpan) stub() (s tracetest.SpanStub, err error) {
	s.Name, s.SpanKind = o.Name, o.Kind
	began, err := strconv.ParseInt(o.StartTimeUnixNano, 10, 64)
	if err != nil {
		return s, err
	}
	s.StartTime = time.Unix(0, began)
	if s.SpanContext, err = o.context(); err != nil {
		return s, err
	}
	if o.ParentSpanID != "" {
		parent := otlpContext{TraceID: o.TraceID, SpanID: o.ParentSpanID}
		if s.Parent, err = parent.context(); err != nil {
			return s, err
		}
	}
	if o.Status.Code == 2 {
		s.Status = sdktrace.Status{Code: codes.Error, Description: o.Status.Message}
	}
	if s.Attributes, err = attributesOf(o.Attributes); err != nil {
		return s, err
	}
	for _, e := range o.Events {
		attributes, err := attributesOf(e.Attributes)
		if err != nil {
			return s, err
		}
		s.Events = append(s.Events, sdktrace.Event{Name: e.Name, Attributes: attributes})
	}
	for _, l := range o.Links {
		to, err := l.context()
		if err != nil {
			return s, err
		}
		attributes, err := attributesOf(l.Attributes)
		if err != nil {
			return s, err
		}
		s.Links = append(s.Links, sdktrace.Link{SpanContext: to, Attributes: attributes})
	}
	return s, nil
}

func (o *otlpContext) context() (trace.SpanContext, error) {
	of, err := trace.TraceIDFromHex(o.TraceID)
	if err != nil {
		return trace.SpanContext{}, err
	}
	id, err := trace.SpanIDFromHex(o.SpanID)
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: of, SpanID: id}), err
}

func attributesOf(list []otlpAttribute) (out []attribute.KeyValue, err error) {
	for _, a := range list {
		key := attribute.Key(a.Key)
		switch v := a.Value; {
		case v.StringValue != nil:
			out = append(out, key.String(*v.StringValue))
		case v.IntValue != nil:
			n, err := strconv.ParseInt(*v.IntValue, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("the attribute %s: %w", a.Key, err)
			}
			out = append(out, key.Int64(n))
		case v.DoubleValue != nil:
			out = append(out, key.Float64(*v.DoubleValue))
		case v.BoolValue != nil:
			out = append(out, key.Bool(*v.BoolValue))
		default:
			return nil, fmt.Errorf("the attribute %s has a value of a kind that is not expected of the edge", a.Key)
		}
	}
	return out, nil
}
