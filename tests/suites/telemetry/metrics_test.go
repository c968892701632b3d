package telemetry

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/telemetry"
	"github.com/mcpedge/mcpedge/tests/helpers/authority"
	"github.com/mcpedge/mcpedge/tests/helpers/authorizer"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/hookserver"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// documented is one row of the table of metrics.
type documented struct{ prometheus, kind, unit, attributes string }

// documentation reads the table of docs/telemetry.md, by the metric's name.
func documentation(t *testing.T) map[string]documented {
	t.Helper()
	page, err := os.ReadFile("../../../docs/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]documented{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(mcp[a-z._]+)` \\| `([a-z_]+)` \\| (\\w+) \\| (\\S+) \\| ([^|]*) \\|").FindAllStringSubmatch(string(page), -1) {
		out[m[1]] = documented{m[2], m[3], m[4], strings.NewReplacer("`", "", " ", "").Replace(m[5])}
	}
	return out
}

// The documentation has every metric of the catalogue, as it is, and no other.
func TestMetricsAreDocumented(t *testing.T) {
	docs := documentation(t)
	for _, i := range telemetry.Catalogue {
		var attrs []string
		for _, a := range i.Attributes {
			attrs = append(attrs, string(a))
		}
		want := documented{prometheusName(i), string(i.Kind), i.Unit, strings.Join(attrs, ",")}
		if len(attrs) == 0 {
			want.attributes = "–"
		}
		if got := docs[i.Name]; got != want {
			list := "–"
			if len(attrs) > 0 {
				list = "`" + strings.Join(attrs, "`, `") + "`"
			}
			t.Errorf("docs/telemetry.md lacks the row\n| `%s` | `%s` | %s | %s | %s | %s |", i.Name, want.prometheus, i.Kind, i.Unit, list, i.Description)
		}
		delete(docs, i.Name)
	}
	for name := range docs {
		t.Errorf("docs/telemetry.md has %s, which does not exist", name)
	}
}

// prometheusName is the name that Prometheus knows a metric by.
func prometheusName(i telemetry.Instrument) string {
	name := strings.ReplaceAll(i.Name, ".", "_")
	switch {
	case i.Unit == "s":
		name += "_seconds"
	case i.Unit == "By":
		name += "_bytes"
	case i.Unit == "1" && i.Kind == telemetry.Gauge:
		name += "_ratio"
	}
	if i.Kind == telemetry.Counter {
		name += "_total"
	}
	return name
}

func scrape(t *testing.T, admin string) map[string]*dto.MetricFamily {
	t.Helper()
	resp, err := http.Get("http://" + admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(resp.Body)
	if err != nil {
		t.Fatalf("status %d: %v", resp.StatusCode, err)
	}
	return families
}

// What a real edge exports after everything has happened to it is what the catalogue says, with those
// labels and no others.
func TestMetricsOfARealEdge(t *testing.T) {
	r := newRig(t)
	url := redisserver.ForTest(t).URL()
	id := issuer.Serve(t)
	ca := authority.New(t, "ca")
	sealed := harness.Serve(t, "sealed", capability.New("sealed", "1", capability.WithServerOptions(grpc.Creds(credentials.NewServerTLSFromCert(new(ca.Server(t).TLS(t))))))).Backend()
	sealed.Identity = config.IdentitySigned
	sealed.TLS = &config.TLS{CA: authority.File(t, filepath.Join(t.TempDir(), "ca.crt"), ca.PEM)}
	passing, denying := hookserver.Serve(t), hookserver.Serve(t)
	denying.SetRequest(hookserver.Deny("no"))
	e := r.start("a", func(c *config.Config, o *telemetry.Options) {
		c.Redis.URL, o.SpanProcessors = url, nil
		c.Hooks = []config.Hook{{Name: "passing", Target: passing.Addr, On: config.Names{"request"}, Timeout: 10 * time.Second},
			{Name: "denying", Target: denying.Addr, On: config.Names{"request"}, Timeout: 10 * time.Second, Mode: "audit"}}
		c.Server.SigningKey = authority.File(t, filepath.Join(t.TempDir(), "identity.pem"), ca.Server(t).Key)
		exchanging := sealed
		exchanging.Name, exchanging.Identity, exchanging.Prefix = "exchanging", config.IdentityExchange, "x_"
		c.Backends = append(c.Backends, sealed, exchanging)
		c.Listen.PublicURL, c.Auth = "https://mcp.example.com", &config.Auth{Optional: true, Issuers: []config.Issuer{{
			Issuer:        id.URL,
			Introspection: &config.Introspection{URL: id.IntrospectionURL(), ClientID: issuer.ClientID, ClientSecretFile: "none"},
			Exchange:      &config.IssuerExchange{ClientID: issuer.ClientID, ClientSecretFile: "none"},
		}, {Issuer: "https://id.example.com", JWKS: id.JWKSFile(t)}}}
		c.Policy = &config.Policy{
			Default: "allow", Rules: []config.PolicyRule{{Name: "nobody", When: "false", Then: "deny"}},
			Confirm:  []config.PolicyConfirm{{Name: "asked", When: `tool.name == "echo" && arguments.name == "asked"`, Message: "Go?"}},
			External: &config.External{Target: authorizer.Serve(t).Addr, Timeout: 10 * time.Second},
		}
		c.Listen.Body = 4 << 10
		c.Quotas = []config.Quota{{Per: "tool", Rate: "10000/1s"}}
		c.Catalog = &config.Catalog{}
		c.Include = []config.Include{{Name: "team", File: "team.yaml", Owns: config.IncludeOwns{Backends: config.Names{exchanging.Name}}, May: config.Names{config.MayCatalog}}}
		c.Sets = map[string]config.Set{"one": {Include: config.SetMembers{Tools: config.Names{"echo"}}}}
		c.Audit = &config.Audit{File: filepath.Join(t.TempDir(), "audit.jsonl")}
		c.Redact = []config.Redaction{{Name: "cards", Pattern: "card"}}
	})
	r.exercise(e)
	callModern(t, e.URL+"/one", "echo", `,"arguments":{"name":"x"}`, "").response()
	open(t, http.MethodPost, e.URL, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "MCP-Protocol-Version", legacy)
	families := scrapeAll(t, e.Admin)
	known := map[string]bool{"target_info": true, "promhttp_metric_handler_errors_total": true}
	for _, i := range telemetry.Catalogue {
		name := prometheusName(i)
		known[name] = true
		f := families[name]
		if f == nil {
			t.Errorf("%s is not exported", name)
			continue
		}
		checkFamily(t, i, f)
	}
	for name := range families {
		if !known[name] && !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") {
			t.Errorf("%s is exported, and in no catalogue", name)
		}
	}
}

// scrapeAll scrapes once all metrics of the catalogue have all their labels: some are recorded after the response was sent, or when a task ends.
func scrapeAll(t *testing.T, admin string) (families map[string]*dto.MetricFamily) {
	t.Helper()
	var lacking []string
	t.Cleanup(func() {
		if len(lacking) > 0 {
			t.Errorf("missing are %q", lacking)
		}
	})
	await.Until(t, "all metrics with all labels", func() bool {
		families, lacking = scrape(t, admin), nil
		for _, i := range telemetry.Catalogue {
			f := families[prometheusName(i)]
			if f == nil {
				lacking = append(lacking, i.Name)
				continue
			}
			for _, label := range missingLabels(i, f) {
				lacking = append(lacking, i.Name+" "+label)
			}
		}
		return len(lacking) == 0
	})
	return families
}

// missingLabels are those of a metric in the catalogue that none of its series has.
func missingLabels(i telemetry.Instrument, f *dto.MetricFamily) []string {
	missing := map[string]bool{}
	for _, a := range i.Attributes {
		missing[strings.ReplaceAll(string(a), ".", "_")] = true
	}
	for _, m := range f.GetMetric() {
		for _, l := range m.GetLabel() {
			delete(missing, l.GetName())
		}
	}
	return slices.Collect(maps.Keys(missing))
}

func checkFamily(t *testing.T, i telemetry.Instrument, f *dto.MetricFamily) {
	t.Helper()
	kinds := map[dto.MetricType]telemetry.InstrumentKind{
		dto.MetricType_HISTOGRAM: telemetry.Histogram, dto.MetricType_COUNTER: telemetry.Counter, dto.MetricType_GAUGE: telemetry.Gauge,
	}
	if kinds[f.GetType()] != i.Kind || f.GetHelp() != i.Description {
		t.Errorf("%s is a %s, help %q; want a %s, help %q", f.GetName(), f.GetType(), f.GetHelp(), i.Kind, i.Description)
	}
	allowed := map[string]bool{}
	for _, a := range i.Attributes {
		allowed[strings.ReplaceAll(string(a), ".", "_")] = true
	}
	for _, m := range f.GetMetric() {
		for _, l := range m.GetLabel() {
			if !allowed[l.GetName()] {
				t.Errorf("%s has the label %s=%q", f.GetName(), l.GetName(), l.GetValue())
			}
		}
	}
	if missing := missingLabels(i, f); len(missing) > 0 {
		t.Errorf("%s never has the labels %v", f.GetName(), missing)
	}
}

// exercise has everything happen once that makes a metric appear.
func (r *rig) exercise(e *harness.Edge) {
	t := r.t
	t.Helper()
	for _, tool := range []string{"echo", "broken", "unlucky", "missing", "progress"} {
		callModern(t, e.URL, tool, `,"arguments":{"name":"x"}`, `,"progressToken":1`).response()
	}
	callModern(t, e.URL, "echo", `,"arguments":{"name":"asked"}`, "").response()
	open(t, http.MethodPost, e.URL, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{%q:%q}}`, "x", strings.Repeat("x", 8<<10)))
	listen := open(t, http.MethodPost, e.URL, `{"jsonrpc":"2.0","id":9,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},`+
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"`+modern+`","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		"MCP-Protocol-Version", modern, "Mcp-Method", "subscriptions/listen")
	listen.next()
	await.Until(t, "one subscription to be open", func() bool {
		return scrape(t, e.Admin)["mcpedge_listens_open"].GetMetric()[0].GetGauge().GetValue() == 1
	})
	listen.close()
	s := newSession(t, e.URL)
	s.post(e.URL, `{"jsonrpc":"2.0","id":3,"method":"prompts/get","params":{"name":"greet"}}`).response()
	s.post(e.URL, `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"later","arguments":{},"task":{}}}`).response()
	for _, answer := range []string{`"result":{"action":"accept","content":{"name":"Ada"}}`, `"error":{"code":-1,"message":"no"}`} {
		x := s.call(e.URL, "ask", "")
		ask := x.next()
		for range 2 {
			s.post(e.URL, `{"jsonrpc":"2.0","id":`+string(ask.ID)+`,`+answer+`}`).close()
		}
		x.response()
		s.resume(e.URL, x.first).response()
	}
	open(t, http.MethodDelete, e.URL, "", "MCP-Protocol-Version", legacy, "Mcp-Session-Id", s.id).close()
	await.Until(t, "the subscription to end", func() bool {
		return scrape(t, e.Admin)["mcpedge_listen_duration_seconds"] != nil
	})
}

// Figures that are easy to get wrong.
func TestFigures(t *testing.T) {
	r := newRig(t)
	e := r.start("a", func(_ *config.Config, o *telemetry.Options) { o.SpanProcessors = nil })
	s := newSession(t, e.URL)
	x := s.call(e.URL, "slow", `"progressToken":1`)
	x.next()
	x.close()
	resumed := s.resume(e.URL, x.first)
	resumed.next()
	close(r.hold)
	resumed.response()
	for name, want := range map[string]float64{
		"mcpedge_sessions_created_total": 1, "mcpedge_sessions_held": 1, "mcpedge_streams_resumed_total": 1,
		"mcpedge_events_replayed_total": 1, "mcpedge_log_appends_total": 2, "mcpedge_calls_begun_total": 1,
		"mcpedge_calls_opened_total": 1, "mcpedge_queue_depth": 0, "mcpedge_streams_open": 0, "mcpedge_backend_calls": 0,
		"mcpedge_backend_up": 1,
	} {
		var got float64
		await.Until(t, fmt.Sprintf("%s to be %v", name, want), func() bool {
			m := scrape(t, e.Admin)[name].GetMetric()
			got = m[0].GetCounter().GetValue() + m[0].GetGauge().GetValue()
			return len(m) == 1 && got == want
		})
	}
	for _, m := range scrape(t, e.Admin)["mcp_server_operation_duration_seconds"].GetMetric() {
		if m.GetHistogram().GetSampleCount() != 1 || len(m.GetHistogram().GetBucket()) != 15 {
			t.Errorf("an operation of %v has %d observations in %d buckets", m.GetLabel(), m.GetHistogram().GetSampleCount(), len(m.GetHistogram().GetBucket()))
		}
	}
}
