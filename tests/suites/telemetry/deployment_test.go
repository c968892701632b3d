//go:build jaeger

package telemetry

import (
	"context"
	"path/filepath"
	"testing"

	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/process"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// deployment is edges on one Redis, the bundled services behind them and a client, each of which sends its spans to one
// Jaeger.
type deployment struct {
	t        *testing.T
	dir      string
	jaeger   *jaeger
	redis    string
	backends []string // flags
	services []*process.Process
	// client is the tracer of clients.
	client trace.Tracer
}

// replica is an edge of a deployment.
type replica struct {
	*process.Process
	// url is that of MCP, admin that of the admin listener.
	url, admin string
}

func deploy(t *testing.T) *deployment {
	t.Helper()
	d := &deployment{t: t, dir: t.TempDir(), jaeger: startJaeger(t), redis: redisserver.ForTest(t).URL()}
	for key, value := range map[string]string{ // of the test, too, which is the client
		"OTEL_EXPORTER_OTLP_ENDPOINT": d.jaeger.http, "OTEL_METRICS_EXPORTER": "none",
		"OTEL_BSP_SCHEDULE_DELAY": "50", // milliseconds; no operator would set it
	} {
		t.Setenv(key, value)
	}
	build(t, d.dir, "./edge")
	names := []string{"everything", "tools", "resources", "prompts"}
	addrs, err := process.FreeAddrs(len(names))
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		p := spawn(t, d.dir, build(t, d.dir, "./services/"+name), nil, "--listen", addrs[i])
		if err := process.AwaitListening(t.Context(), addrs[i], p); err != nil {
			t.Fatal(err)
		}
		d.backends, d.services = append(d.backends, "--backend="+name+"="+addrs[i]), append(d.services, p)
	}
	d.startClient()
	return d
}

// edge runs a replica until the test ends, or is killed by it. Spans leave by OTLP over HTTP unless env says otherwise.
func (d *deployment) edge(t *testing.T, name string, env []string, flags ...string) *replica {
	t.Helper()
	addrs, err := process.FreeAddrs(2)
	if err != nil {
		t.Fatal(err)
	}
	flags = append(flags, "--replica="+name, "--listen="+addrs[0], "--admin="+addrs[1], "--redis="+d.redis, "--log-format=json")
	p, err := process.Start("edge "+name, "env", d.log(name), append(append(env, "MCPEDGE_REDIS_LEASE=1s", filepath.Join(d.dir, "edge")), append(flags, d.backends...)...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		select {
		case <-p.Done(): // it was killed
			return
		default:
		}
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	r := &replica{Process: p, url: "http://" + addrs[0] + "/mcp", admin: "http://" + addrs[1]}
	if err := process.AwaitOK(t.Context(), r.admin+"/readyz", append(d.services, p)...); err != nil {
		t.Fatal(err)
	}
	// A replica is ready before each of its backends is listed.
	for _, tool := range []string{"greet", "weather_current"} {
		await.Until(t, name+" to list "+tool, func() bool {
			return callModern(t, r.url, tool, `,"arguments":{"name":"x","city":"Paris"}`, `,"traceparent":"`+unsampled+`"`).response().Result != nil
		})
	}
	return r
}

// unsampled is the context of calls that are not looked at.
const unsampled = "00-" + clientTrace + "-b7ad6b7169203331-00"

// log is where a replica writes its log.
func (d *deployment) log(name string) string { return filepath.Join(d.dir, "edge-"+name+".log") }

// startClient has the test send spans as a client does, each as soon as it has ended.
func (d *deployment) startClient() {
	exporter, err := autoexport.NewSpanExporter(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	name := resource.NewSchemaless(attribute.String("service.name", "client"))
	p := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter), sdktrace.WithResource(name))
	d.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := p.Shutdown(ctx); err != nil {
			d.t.Error(err)
		}
	})
	d.client = p.Tracer("test")
}

// span begins a span of the client's in a trace of its own, and returns it with its context as `traceparent` has it.
func (d *deployment) span(name string) (span trace.Span, parent string) {
	ctx, span := d.client.Start(d.t.Context(), name, trace.WithSpanKind(trace.SpanKindClient), trace.WithNewRoot())
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return span, carrier["traceparent"]
}

// traced calls do with the context of a client's span, and returns the trace's id.
func (d *deployment) traced(name string, do func(parent string)) (id string) {
	span, parent := d.span(name)
	do(parent)
	span.End()
	return span.SpanContext().TraceID().String()
}
