// Package telemetry holds what operators see of the edge against what it does: the exact spans of calls
// of every kind, over one replica and several; the metrics of a real edge against their documentation;
// and traces across processes, as a collector receives them.
//
// And it holds the Grafana dashboards, the Prometheus alerts of deploy/ and the queries of docs/ against what edges export: two
// replicas on a Redis are used until every series has appeared. Each query's metrics and labels, found by Prometheus's own parser
// (tools/promql), are looked up in what they serve at /metrics, and Prometheus's own engine asks the query of it: it has to give
// something.
//
// The build tags jaeger and prometheus add tests against those programs, which the stages traces and dashboards of CI build.
package telemetry

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/app"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/telemetry"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// patience bounds every wait for a condition.
const patience = await.Patience

const (
	modern = "2026-07-28"
	legacy = "2025-11-25"
)

// rig is a backend and one recorder of the spans of all processes that a test stands for.
type rig struct {
	t       *testing.T
	spans   *tracetest.InMemoryExporter
	backend *harness.Service
	// got is the trace context that the tool echo was called with.
	got chan string
	// hold is closed to let the tool slow end.
	hold chan struct{}
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, spans: tracetest.NewInMemoryExporter(), got: make(chan string, 100), hold: make(chan struct{})}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(r.spans))
	r.backend = harness.Serve(t, "fixture", r.tools(capability.WithTracerProvider(provider)))
	return r
}

// sent is the trace context that the last call of echo came with: traceparent, baggage, tracestate.
func (r *rig) sent() string {
	r.t.Helper()
	select {
	case got := <-r.got:
		return got
	case <-time.After(patience):
		r.t.Fatal("echo was not called")
		return ""
	}
}

type nothing struct{}

type named struct {
	Name string `json:"name"`
}

func (r *rig) tools(o ...capability.Option) *capability.Server {
	s := capability.New("fixture", "1", o...)
	capability.AddTool(s, "echo", "Echoes", func(ctx context.Context, _ *capability.Call, in named) (string, error) {
		md, _ := metadata.FromIncomingContext(ctx)
		one := func(key string) string { return strings.Join(md.Get(key), ",") }
		parent := one("traceparent")
		r.got <- parent + " " + one("baggage") + " " + one("tracestate")
		return in.Name, nil
	})
	capability.AddTool(s, "progress", "Tells how far it is", func(_ context.Context, c *capability.Call, _ nothing) (string, error) {
		c.Progress(1, 2, "")
		c.Progress(2, 2, "")
		return "done", nil
	})
	capability.AddTool(s, "ask", "Asks its user", func(_ context.Context, c *capability.Call, _ nothing) (string, error) {
		answer, err := capability.Ask[named](c, "who", "Who are you?")
		if err != nil {
			return "", err
		}
		return "hello " + answer.Name, nil
	})
	capability.AddTool(s, "broken", "Fails with a status", func(context.Context, *capability.Call, nothing) (string, error) {
		return "", status.Error(codes.Unavailable, "out of order")
	})
	capability.AddTool(s, "unlucky", "Fails with a result", func(context.Context, *capability.Call, nothing) (string, error) {
		return "", errors.New("no luck")
	})
	capability.AddTool(s, "slow", "Tells that it began, and waits", func(ctx context.Context, c *capability.Call, _ nothing) (string, error) {
		c.Progress(1, 2, "")
		select {
		case <-r.hold:
		case <-ctx.Done():
		}
		return "slept", nil
	})
	capability.AddTool(s, "later", "May be a task", func(context.Context, *capability.Call, nothing) (string, error) {
		return "done", nil
	}, capability.Tasks(capability.TaskOptional))
	capability.AddPrompt(s, &capability.Prompt{Name: "greet"}, func(context.Context, *capability.Call, map[string]string) (string, error) {
		return "Say hello.", nil
	})
	return s
}

// start runs a replica that is traced, as tune says; a Redis of its own makes it one of several.
func (r *rig) start(name string, tune func(*config.Config, *telemetry.Options)) *harness.Edge {
	r.t.Helper()
	cfg := harness.Config(r.backend.Backend())
	cfg.Server.Replica = name
	o := telemetry.Options{Replica: name, SpanProcessors: []sdktrace.SpanProcessor{sdktrace.NewSimpleSpanProcessor(r.spans)}}
	if tune != nil {
		tune(&cfg, &o)
	}
	if cfg.Redis.URL != "" {
		o.StateSystem = "redis"
	}
	observed, err := telemetry.New(r.t.Context(), o)
	if err != nil {
		r.t.Fatal(err)
	}
	return harness.Start(r.t, cfg, app.WithTelemetry(observed))
}
