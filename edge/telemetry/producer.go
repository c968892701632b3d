package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// producer gives the SDK's readers what is counted beside the SDK.
type producer struct{ t *Telemetry }

var _ sdkmetric.Producer = producer{}

// Produce implements sdkmetric.Producer.
func (p producer) Produce(context.Context) ([]metricdata.ScopeMetrics, error) {
	out := metricdata.ScopeMetrics{Scope: instrumentation.Scope{Name: Scope}}
	for _, one := range []func() (metricdata.Metrics, bool){
		func() (metricdata.Metrics, bool) { return p.t.server.metric(ServerOperation) },
		func() (metricdata.Metrics, bool) { return p.t.client.metric(ClientOperation) },
		func() (metricdata.Metrics, bool) { return p.t.backends.metric(BackendCall) },
		func() (metricdata.Metrics, bool) { return p.t.redis.metric(RedisCommand) },
	} {
		if m, ok := one(); ok {
			out.Metrics = append(out.Metrics, m)
		}
	}
	return []metricdata.ScopeMetrics{out}, nil
}

// work is one kind of work of one backend, and how it ended.
type work struct {
	backend string
	method  mcp.Method
	outcome string
}

func (w work) attributes() []attribute.KeyValue {
	return []attribute.KeyValue{AttrBackend.String(w.backend), AttrMethod.String(string(w.method)), AttrOutcome.String(w.outcome)}
}

// BackendCalled records one round of a call at a backend.
func (t *Telemetry) BackendCalled(ctx context.Context, backend string, m mcp.Method, o *Outcome, took time.Duration) {
	if t != nil {
		t.backends.record(ctx, work{backend, m, o.String()}, took)
	}
}

// command is a Redis command, and how it ended.
type command struct {
	name   string
	failed bool
}

func (c command) attributes() []attribute.KeyValue {
	outcome := "ok"
	if c.failed {
		outcome = "error"
	}
	return []attribute.KeyValue{AttrCommand.String(c.name), AttrOutcome.String(outcome)}
}

// RedisCalled records one round trip to Redis. The command is one that the edge uses.
func (t *Telemetry) RedisCalled(ctx context.Context, name string, failed bool, took time.Duration) {
	if t != nil {
		t.redis.record(ctx, command{name, failed}, took)
	}
}
