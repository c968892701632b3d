package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// work identifies one kind of work of one backend, and its outcome.
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

// command is a Redis command and its outcome.
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

// RedisCalled records one round trip to Redis. name is a command that the edge uses.
func (t *Telemetry) RedisCalled(ctx context.Context, name string, failed bool, took time.Duration) {
	if t != nil {
		t.redis.record(ctx, command{name, failed}, took)
	}
}
