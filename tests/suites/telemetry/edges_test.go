package telemetry

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpedge/mcpedge/tests/helpers/authority"
	"github.com/mcpedge/mcpedge/tests/helpers/authorizer"
	"github.com/mcpedge/mcpedge/tests/helpers/hookserver"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
	"github.com/mcpedge/mcpedge/tests/helpers/process"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
	"github.com/mcpedge/mcpedge/tests/helpers/replicas"
)

// series are metrics by name, each with its labels.
type series map[string]map[string]bool

// scraped is what a replica served at a time that the test makes up, in seconds: so that rates have minutes to look at.
type scraped struct {
	At     int64             `json:"at"`
	Labels map[string]string `json:"labels"`
	Text   string            `json:"text"`
}

// minute is the time between two scrapes of one replica.
const minute = 60

// exported is what the replicas served: the series with their labels, and each scrape.
type exported struct {
	observer
	series  series
	scrapes []scraped
}

// observer is told of the replicas that exercise runs. Its zero value looks at nothing.
type observer struct {
	// ready is called once the replicas, and the Redis at this URL, are.
	ready func(group replicas.Group, redis string)
	// see is called whenever what a replica serves at /metrics is to be looked at; what comes next waits for it.
	see func(*replicas.Edge)
	// over is called when all is done; one replica still runs.
	over func()
}

// keep scrapes a replica as of so many minutes.
func (x *exported) keep(t *testing.T, e *replicas.Edge, minutes int64) map[string]*dto.MetricFamily {
	t.Helper()
	families, text := scrapeReplica(t, e, x.series)
	x.scrapes = append(x.scrapes, scraped{At: minutes * minute, Labels: map[string]string{"job": "mcpedge", "instance": e.Name()}, Text: text})
	if x.see != nil {
		x.see(e)
	}
	return families
}

// exercise runs two replicas on a Redis, has happen to them what makes series appear, a lost replica
// included, and returns what they exported.
func exercise(t *testing.T, o observer) *exported {
	t.Helper()
	runtime.LockOSThread() // to which the replicas are bound
	defer runtime.UnlockOSThread()
	dir := t.TempDir()
	if err := process.Build(t.Context(), dir, "github.com/mcpedge/mcpedge/edge"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 6*patience)
	defer cancel()
	f := startFixture(t)
	ca := authority.New(t, "ca")
	lying := hookserver.Serve(t)
	lying.SetRequest(hookserver.Arguments("[]"))
	settings := fmt.Sprintf("quotas: [{per: tool, tools: [seldom], rate: 1/24h}]\npolicy: {default: allow, rules: [{name: tried, when: 'true', then: deny, mode: audit}, {name: claimed, when: 'tool.name == \"forbidden\" && principal.claims.x == 1', then: deny}], confirm: [{name: asked, when: 'tool.name == \"seldom\"', message: Go?}], approve: [{name: second, when: 'tool.name == \"approved\"', message: Go?}], external: {target: %[5]q, timeout: 10s}}\nhooks: [{name: checked, target: %[7]q, on: [request], timeout: 10s}, {name: lying, target: %[8]q, on: [request], timeout: 10s, mode: audit}]\nbackends:\n  - {name: fixture, target: %[1]q}\n  - {name: hollow, target: %[2]q, identity: signed, tls: {ca: %[3]q}}\n  - {name: hollower, target: %[2]q, identity: exchange, tls: {ca: %[3]q}}\n  - {name: tardy, target: %[6]q}\nserver: {signing-key: %[4]q}\n",
		f.addr, startHollow(t, ca), authority.File(t, filepath.Join(dir, "ca.crt"), ca.PEM), authority.File(t, filepath.Join(dir, "identity.pem"), ca.Server(t).Key), authorizer.Serve(t).Addr, startTardy(t), hookserver.Serve(t).Addr, lying.Addr)
	id := issuer.Serve(t)
	settings += "admin: {auth: {scope: operate, open: [probes, metrics]}}\n"
	requester := id.Token("ann", "https://mcp.example.com/mcp")
	settings += fmt.Sprintf("listen: {public-url: https://mcp.example.com}\nauth: {optional: true, api-keys: %q, issuers: [{issuer: %q, exchange: {client-id: edge, client-secret-file: none}, introspection: {url: %q, client-id: edge, client-secret-file: none}}, {issuer: https://id.example.com, jwks: %q}]}\n",
		authority.File(t, filepath.Join(dir, "keys.yaml"), []byte("[]")), id.URL, id.IntrospectionURL(), id.JWKSFile(t))
	authority.File(t, filepath.Join(dir, "team.yaml"), []byte("catalog: {}\n"))
	settings += "include: [{name: team, file: team.yaml, owns: {backends: [fixture]}, may: [catalog]}]\n"
	settings += "redact: [{name: cards, pattern: card}]\n"
	settings += fmt.Sprintf("audit: {file: %q}\n", filepath.Join(dir, "audit-{replica}.jsonl"))
	file := authority.File(t, filepath.Join(dir, "edge.yaml"), []byte(settings))
	redis := redisserver.ForTest(t, "--maxmemory", "100mb").URL() // there is no panel about memory without a bound
	group, err := replicas.New(replicas.Options{
		Program: dir + "/edge", Dir: t.TempDir(), Redis: redis, Count: 2,
		Flags: func(int) []string {
			return []string{"--config=" + file, "MCPEDGE_REDIS_LEASE=1s", "MCPEDGE_CALLS_STREAM_AFTER=10ms", "MCPEDGE_ADVANCED_ARGUMENT_VALUES=8"}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := group.Start(ctx); err != nil {
		t.Fatal(err)
	}
	first, second := group[0], group[1]
	out := &exported{observer: o, series: series{}}
	if o.ready != nil {
		o.ready(group, redis)
	}
	// Twice, for rates: a counter that appears with its first value has none.
	longest := tardiness / slower
	for minutes := range int64(2) {
		began := time.Now()
		makeTaskOf(t, ctx, first, "later")
		makeTaskOf(t, ctx, first, "approved", "Authorization", "Bearer "+requester)
		longest = max(longest, time.Since(began))
		for _, version := range []string{legacy, modern} {
			longest = use(t, ctx, first, version, longest)
		}
		listen(t, ctx, first)
		for listened(t, first) <= uint64(minutes) { // The replica may notice later.
			if ctx.Err() != nil {
				t.Fatal("a subscription that its client closed goes on")
			}
			time.Sleep(10 * time.Millisecond)
		}
		out.keep(t, first, minutes)
	}
	lose(t, ctx, f, first, second, func() { out.keep(t, first, 2) })
	families := out.keep(t, second, 2)
	out.keep(t, second, 3)
	for _, name := range []string{
		"mcpedge_streams_resumed_total", "mcpedge_events_replayed_total", "mcpedge_calls_taken_over_total",
		"mcpedge_calls_rerun_total", "mcpedge_calls_unknown_outcome_total", "mcpedge_ready", "mcpedge_backend_up",
	} {
		least := 0.0
		for i, m := range families[name].GetMetric() {
			if v := m.GetCounter().GetValue() + m.GetGauge().GetValue(); i == 0 || v < least {
				least = v
			}
		}
		if least < 1 {
			t.Errorf("%s is %v, want each series to be at least 1", name, families[name].GetMetric())
		}
	}
	if out.over != nil {
		out.over()
	}
	if err := second.Stop(); err != nil {
		t.Error(err)
	}
	return out
}

// listened counts the subscriptions that have ended.
func listened(t *testing.T, e *replicas.Edge) (n uint64) {
	t.Helper()
	families, _ := scrapeReplica(t, e, series{})
	for _, m := range families["mcpedge_listen_duration_seconds"].GetMetric() {
		n += m.GetHistogram().GetSampleCount()
	}
	return n
}

// scrapeReplica adds what a replica serves at /metrics to out.
func scrapeReplica(t *testing.T, e *replicas.Edge, out series) (map[string]*dto.MetricFamily, string) {
	t.Helper()
	resp, err := http.Get("http://" + e.Admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil || len(families) == 0 {
		t.Fatalf("%s says nothing at /metrics: %s: %v", e.Name(), resp.Status, err)
	}
	for name, f := range families {
		names := []string{name}
		if f.GetType() == dto.MetricType_HISTOGRAM {
			names = []string{name + "_bucket", name + "_sum", name + "_count"}
		}
		for _, n := range names {
			if out[n] == nil {
				out[n] = map[string]bool{}
			}
			for _, m := range f.GetMetric() {
				for _, l := range m.GetLabel() {
					out[n][l.GetName()] = true
				}
			}
		}
		if f.GetType() == dto.MetricType_HISTOGRAM {
			out[name+"_bucket"]["le"] = true
		}
	}
	return families, string(text)
}

// use is an official client that asks for all there is, wrongly too, and leaves. It returns the duration of the longest call other than
// that of dawdle, if that exceeds longest, the same of earlier clients; dawdle takes slower times as long.
func use(t *testing.T, ctx context.Context, e *replicas.Edge, version string, longest time.Duration) time.Duration {
	t.Helper()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	asked := 0
	client := mcp.NewClient(&mcp.Implementation{Name: "telemetry", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			if asked++; asked > 1 {
				return nil, &jsonrpc.Error{Code: -1, Message: "not now"}
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
		},
	})
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: "http://" + e.Addr + "/mcp", HTTPClient: &http.Client{Transport: transport},
	}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.ListTools(ctx, nil); err != nil {
		t.Error(err)
	}
	for _, tool := range []string{"count", "ask", "refuse", "break", "ask", "missing", "seldom", "seldom", "forbidden", "approved"} {
		p := &mcp.CallToolParams{Name: tool, Arguments: map[string]any{}}
		p.SetProgressToken(tool)
		began := time.Now()
		_, err := session.CallTool(ctx, p) // what fails is meant to
		longest = max(longest, time.Since(began))
		if (tool == "count" || tool == "refuse") && err != nil {
			t.Errorf("%s: %v", tool, err)
		}
	}
	many := map[string]any{"list": make([]int, 20)}
	if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "count", Arguments: many}); err == nil {
		t.Error("more values than a call may have are taken")
	}
	began := time.Now()
	if _, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "greet"}); err != nil {
		t.Error(err)
	}
	longest = max(longest, time.Since(began))
	slow := lasting{Milliseconds: (slower * longest).Milliseconds()}
	if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "dawdle", Arguments: slow}); err != nil {
		t.Errorf("dawdle: %v", err)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	return longest
}
