package telemetry

import (
	"encoding/hex"
	"net/http"
	"os/exec"
	"path/filepath"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/mcpedge/mcpedge/edge/telemetry"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/process"
)

// build builds a program of the project.
func build(t *testing.T, dir, pkg string) string {
	t.Helper()
	program := filepath.Join(dir, filepath.Base(pkg))
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", program, pkg)
	cmd.Dir = "../../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", pkg, err, out)
	}
	return program
}

// spawn runs a program with an environment of its own until the test ends.
func spawn(t *testing.T, dir, program string, env []string, args ...string) *process.Process {
	t.Helper()
	name := filepath.Base(program)
	p, err := process.Start(name, "env", filepath.Join(dir, name+".log"), append(append(env, program), args...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// A client that tells its trace finds the edge, the gRPC calls and the backend's handler in it, each a
// process of its own, as a collector receives them.
func TestOneTraceAcrossProcesses(t *testing.T) {
	dir := t.TempDir()
	c := startCollector(t)
	addrs, err := process.FreeAddrs(3)
	if err != nil {
		t.Fatal(err)
	}
	env := []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + c.addr, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc",
		"OTEL_BSP_SCHEDULE_DELAY=50", "OTEL_METRIC_EXPORT_INTERVAL=200",
	}
	tools := spawn(t, dir, build(t, dir, "./services/tools"), env, "--listen", addrs[0])
	edge := spawn(t, dir, build(t, dir, "./edge"), env,
		"--listen", addrs[1], "--admin", addrs[2], "--backend", "tools="+addrs[0], "--log-format", "json")
	if err := process.AwaitOK(t.Context(), "http://"+addrs[2]+"/readyz", edge, tools); err != nil {
		t.Fatal(err)
	}
	url := "http://" + addrs[1] + "/mcp"
	await.Until(t, "the backend to be listed", func() bool {
		m := callModern(t, url, "calculator_arithmetic", `,"arguments":{"expression":"1+2"}`, `,"traceparent":"`+parent(httpTrace)+`"`).response()
		return m.Result != nil
	})
	if m := callModern(t, url, "calculator_arithmetic", `,"arguments":{"expression":"1+2"}`, `,"traceparent":"`+parent(clientTrace)+`"`).response(); m.Result == nil {
		t.Fatalf("%s", m.Error)
	}
	await.Until(t, "three spans of the client's trace", func() bool { return len(c.trace(clientTrace)) >= 3 })
	above := "b7ad6b7169203331"
	for _, want := range []struct {
		service, name string
		kind          tracepb.Span_SpanKind
	}{
		{"mcpedge", "tools/call calculator_arithmetic", tracepb.Span_SPAN_KIND_SERVER},
		{"mcpedge", "mcpedge.v1.ToolService/CallTool", tracepb.Span_SPAN_KIND_CLIENT},
		{"tools", "mcpedge.v1.ToolService/CallTool", tracepb.Span_SPAN_KIND_SERVER},
	} {
		found := false
		for _, s := range c.trace(clientTrace) {
			if s.service != want.service || s.GetKind() != want.kind {
				continue
			}
			found = true
			if s.GetName() != want.name || hex.EncodeToString(s.GetParentSpanId()) != above {
				t.Errorf("%s of %s is below %x, want %s below %s", s.GetName(), s.service, s.GetParentSpanId(), want.name, above)
			}
			above = hex.EncodeToString(s.GetSpanId())
			break
		}
		if !found {
			t.Errorf("no span %q of %s", want.name, want.service)
		}
	}
	if n := len(c.trace(clientTrace)); n != 3 {
		t.Errorf("%d spans in the client's trace, want 3", n)
	}
	await.Until(t, "metrics by OTLP", func() bool { return c.hasMetric(telemetry.ServerOperation) })
	if resp, err := http.Get("http://" + addrs[2] + "/metrics"); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("/metrics beside OTLP: %v %v", resp, err)
	} else {
		_ = resp.Body.Close()
	}
}
