package telemetry

import (
	"context"
	"encoding/hex"
	"net"
	"slices"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	metrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/grpc"
)

// received is a span as a collector gets it, with the service it is of.
type received struct {
	service string
	*tracepb.Span
}

// otlp is a collector that keeps what it gets over OTLP/gRPC.
type otlp struct {
	collector.UnimplementedTraceServiceServer
	addr string

	mu      sync.Mutex
	spans   []received
	metrics []string // names
}

func startCollector(t *testing.T) *otlp {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &otlp{addr: l.Addr().String()}
	s := grpc.NewServer()
	collector.RegisterTraceServiceServer(s, c)
	metrics.RegisterMetricsServiceServer(s, &otlpMetrics{c: c})
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return c
}

// Export takes spans.
func (c *otlp) Export(_ context.Context, req *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range req.GetResourceSpans() {
		service := ""
		for _, kv := range r.GetResource().GetAttributes() {
			if kv.GetKey() == "service.name" {
				service = kv.GetValue().GetStringValue()
			}
		}
		for _, s := range r.GetScopeSpans() {
			for _, span := range s.GetSpans() {
				c.spans = append(c.spans, received{service, span})
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

type otlpMetrics struct {
	metrics.UnimplementedMetricsServiceServer
	c *otlp
}

// Export takes metrics.
func (m *otlpMetrics) Export(_ context.Context, req *metrics.ExportMetricsServiceRequest) (*metrics.ExportMetricsServiceResponse, error) {
	m.c.mu.Lock()
	defer m.c.mu.Unlock()
	for _, r := range req.GetResourceMetrics() {
		for _, s := range r.GetScopeMetrics() {
			for _, one := range s.GetMetrics() {
				m.c.metrics = append(m.c.metrics, one.GetName())
			}
		}
	}
	return &metrics.ExportMetricsServiceResponse{}, nil
}

// trace is the spans of a trace.
func (c *otlp) trace(id string) []received {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []received
	for _, s := range c.spans {
		if hex.EncodeToString(s.GetTraceId()) == id {
			out = append(out, s)
		}
	}
	return out
}

func (c *otlp) hasMetric(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.metrics, name)
}
