package capability

import (
	"strings"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"
)

// unset is the global provider before otel.SetTracerProvider is called.
var unset = otel.GetTracerProvider()

// traced returns the options that record calls as spans, if a tracer provider is set. The edge
// sends W3C trace context and baggage, whatever the global propagator is.
func (s *Server) traced() []grpc.ServerOption {
	p := s.tracing
	if p == nil {
		if p = otel.GetTracerProvider(); p == unset {
			return nil
		}
	}
	return []grpc.ServerOption{grpc.StatsHandler(otelgrpc.NewServerHandler(
		otelgrpc.WithTracerProvider(p), otelgrpc.WithFilter(isWork),
		otelgrpc.WithPropagators(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})),
	))}
}

// isWork excludes RPCs that are not part of a call: feeds, lists, health.
func isWork(info *stats.RPCTagInfo) bool {
	method := info.FullMethodName[strings.LastIndexByte(info.FullMethodName, '/')+1:]
	switch method {
	case "CallTool", "ReadResource", "GetPrompt", "CompletePrompt", "CompleteResourceTemplate":
		return true
	}
	return false
}
