//go:build jaeger

package telemetry

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/process"
)

// jaeger is a Jaeger that keeps what it receives in memory.
type jaeger struct {
	// grpc and http are the URLs at which it takes spans by OTLP, over gRPC and over HTTP.
	grpc, http string
	// query is the URL of what it is asked.
	query string
}

// jaegerConfig has Jaeger listen at four addresses: OTLP over gRPC and HTTP, and its API over HTTP and gRPC. Spans are
// stored as they arrive, without batches.
const jaegerConfig = `service:
  extensions: [jaeger_storage, jaeger_query]
  pipelines:
    traces: {receivers: [otlp], exporters: [jaeger_storage_exporter]}
  telemetry:
    metrics: {level: none}
receivers:
  otlp: {protocols: {grpc: {endpoint: %q}, http: {endpoint: %q}}}
extensions:
  jaeger_storage: {backends: {memory: {memory: {max_traces: 1000}}}}
  jaeger_query: {enable_tracing: false, storage: {traces: memory}, http: {endpoint: %q}, grpc: {endpoint: %q}}
exporters:
  jaeger_storage_exporter: {trace_storage: memory}
`

// startJaeger runs the program that JAEGER_BINARY names until the test ends.
func startJaeger(t *testing.T) *jaeger {
	t.Helper()
	program := os.Getenv("JAEGER_BINARY")
	if program == "" {
		t.Fatal("JAEGER_BINARY does not name a Jaeger: make stages ONLY=traces builds one and sets it")
	}
	addrs, err := process.FreeAddrs(4)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "jaeger.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, jaegerConfig, addrs[0], addrs[1], addrs[2], addrs[3]), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := process.Start("jaeger", program, filepath.Join(dir, "jaeger.log"), "--config="+file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Kill() }) // it has nothing to keep
	j := &jaeger{grpc: "http://" + addrs[0], http: "http://" + addrs[1], query: "http://" + addrs[2]}
	if err := process.AwaitOK(t.Context(), j.query+"/api/services", p); err != nil {
		t.Fatal(err)
	}
	return j
}

// ask reads what Jaeger's API answers at a path; out is untouched when it has nothing, 404.
func (j *jaeger) ask(t *testing.T, path string, query url.Values, out any) {
	t.Helper()
	resp, err := http.Get(j.query + path + "?" + query.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound {
		return
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("Jaeger answers %s with %s: %v", path, resp.Status, err)
	}
}

// services are the names of all who sent spans.
func (j *jaeger) services(t *testing.T) []string {
	t.Helper()
	var out struct{ Data []string }
	j.ask(t, "/api/services", nil, &out)
	return out.Data
}

// operations are the names of a service's spans.
func (j *jaeger) operations(t *testing.T, service string) []string {
	t.Helper()
	var out struct{ Data []string }
	j.ask(t, "/api/services/"+url.PathEscape(service)+"/operations", nil, &out)
	return out.Data
}

// find returns the ids of a service's traces that have a span with these attributes.
func (j *jaeger) find(t *testing.T, service string, attributes map[string]string) (ids []string) {
	t.Helper()
	tags, err := json.Marshal(attributes)
	if err != nil {
		t.Fatal(err)
	}
	var out struct{ Data []struct{ TraceID string } }
	j.ask(t, "/api/traces", url.Values{"service": {service}, "tags": {string(tags)}, "limit": {"100"}}, &out)
	for _, one := range out.Data {
		ids = append(ids, one.TraceID)
	}
	return ids
}

// trace is the spans of a trace that have arrived, without what Jaeger remarks on them.
func (j *jaeger) trace(t *testing.T, id string) tracetest.SpanStubs {
	t.Helper()
	var out struct{ Result otlpTraces }
	j.ask(t, "/api/v3/traces/"+id, url.Values{"raw_traces": {"true"}}, &out)
	spans, err := out.Result.stubs()
	if err != nil {
		t.Fatalf("the trace %s: %v", id, err)
	}
	return spans
}

// await returns a trace once it has n spans.
func (j *jaeger) await(t *testing.T, id string, n int) (spans tracetest.SpanStubs) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("the trace %s is\n%s", id, tree(spans))
		}
	}()
	await.Until(t, fmt.Sprintf("%d spans of the trace %s", n, id), func() bool {
		spans = j.trace(t, id)
		return len(spans) >= n
	})
	return spans
}

// awaitTree waits for n spans of a trace and compares them with testdata/NAME.txt.
func (j *jaeger) awaitTree(t *testing.T, id string, n int, name string) tracetest.SpanStubs {
	t.Helper()
	spans := j.await(t, id, n)
	compareTree(t, spans, name)
	return spans
}
