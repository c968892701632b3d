package program

import (
	"context"
	"fmt"
	"os"
	"time"

	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// flushTimeout is how long the program waits at its end for the export of the last spans.
const flushTimeout = 5 * time.Second

// trace makes the service continue the edge's traces if the standard environment configures an
// exporter: OTEL_TRACES_EXPORTER or an OTLP endpoint. stop exports the last spans.
func trace(ctx context.Context, name string) (stop func(), err error) {
	if !wanted(os.Getenv) {
		return func() {}, nil
	}
	exporter, err := autoexport.NewSpanExporter(ctx)
	if err != nil {
		return nil, fmt.Errorf("OTEL_TRACES_EXPORTER: %w", err)
	}
	res, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", name)), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(res))
	otel.SetTracerProvider(p)
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
		defer cancel()
		if err := p.Shutdown(ctx); err != nil {
			otel.Handle(err)
		}
	}, nil
}

func wanted(env func(string) string) bool {
	if env("OTEL_SDK_DISABLED") == "true" {
		return false
	}
	if exporter := env("OTEL_TRACES_EXPORTER"); exporter != "" {
		return exporter != "none"
	}
	return env("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}
