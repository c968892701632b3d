// Command sink is a collector that takes what it is sent over OTLP/gRPC and forgets it. It prints its
// address.
package main

import (
	"context"
	"fmt"
	"log"
	"net"

	metrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	traces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
)

type traceSink struct {
	traces.UnimplementedTraceServiceServer
}

// Export forgets spans.
func (traceSink) Export(context.Context, *traces.ExportTraceServiceRequest) (*traces.ExportTraceServiceResponse, error) {
	return &traces.ExportTraceServiceResponse{}, nil
}

type metricSink struct {
	metrics.UnimplementedMetricsServiceServer
}

// Export forgets metrics.
func (metricSink) Export(context.Context, *metrics.ExportMetricsServiceRequest) (*metrics.ExportMetricsServiceResponse, error) {
	return &metrics.ExportMetricsServiceResponse{}, nil
}

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	s := grpc.NewServer()
	traces.RegisterTraceServiceServer(s, traceSink{})
	metrics.RegisterMetricsServiceServer(s, metricSink{})
	fmt.Println(l.Addr())
	log.Fatal(s.Serve(l))
}
