package compose

import (
	"net"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

const profile = "observability"

// decode reads a YAML file of the repository.
func decode(t *testing.T, path string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(read(t, path)), into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// mounted returns where in a container a file or directory of the repository is.
func (s *service) mounted(t *testing.T, name string) string {
	t.Helper()
	want, err := filepath.Abs(root + "/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range s.Volumes {
		if v.Type == "bind" && v.Source == want {
			return v.Target
		}
	}
	t.Fatalf("%s does not have %s, only %+v", s.Image, name, s.Volumes)
	return ""
}

// reachable fails the test unless an address is a service of the profile at a port it is known for.
func (p *project) reachable(t *testing.T, who, address, port string) {
	t.Helper()
	host, got, err := net.SplitHostPort(address)
	if s := p.Services[host]; err != nil || s == nil || !slices.Contains(s.Profiles, profile) || got != port {
		t.Errorf("%s is told of %s: want a service of the profile %s at port %s", who, address, profile, port)
	}
}

// Whoever reaches an admin address may do anything there: what people log in to does not.
func TestViewersDoNotReachTheEdges(t *testing.T) {
	p := load(t)
	for _, name := range []string{"grafana", "jaeger"} {
		if _, near := p.Services[name].Networks["default"]; near || len(p.Services[name].Networks) == 0 {
			t.Errorf("%s is in the networks %v, the edges in %v", name, p.Services[name].Networks, p.Services["edge-1"].Networks)
		}
	}
}

// Without the profile nobody sends traces; with it they go to the collector, and
// from there to Jaeger.
func TestTracesReachJaeger(t *testing.T) {
	p := load(t) // with an environment that says nothing
	for _, name := range append(p.edges(), "tools", "resources", "prompts") {
		env := p.Services[name].Environment
		if v := env["OTEL_EXPORTER_OTLP_ENDPOINT"]; v == nil || *v != "" {
			t.Errorf("%s exports traces without the profile, to %v", name, v)
		}
		if v := env["OTEL_METRICS_EXPORTER"]; v == nil || *v != "none" {
			t.Errorf("%s sends metrics to a collector that takes traces only: OTEL_METRICS_EXPORTER is %v", name, v)
		}
	}
	endpoint := regexp.MustCompile(`OTEL_EXPORTER_OTLP_ENDPOINT: \$\{OTEL_EXPORTER_OTLP_ENDPOINT:-\$\{COMPOSE_PROFILES:\+http://(\S+?)\}\}\n`).
		FindStringSubmatch(read(t, "docker-compose.yml"))
	if endpoint == nil {
		t.Fatal("docker-compose.yml does not send traces to the collector when COMPOSE_PROFILES is set")
	}
	var config struct {
		Receivers struct {
			OTLP struct {
				Protocols map[string]struct{ Endpoint string }
			}
		}
		Processors map[string]any
		Exporters  map[string]struct{ Endpoint string }
		Service    struct {
			Pipelines map[string]struct{ Receivers, Processors, Exporters []string }
		}
	}
	decode(t, "deploy/otel/collector.yaml", &config)
	_, port, _ := net.SplitHostPort(config.Receivers.OTLP.Protocols["http"].Endpoint)
	p.reachable(t, "an edge", endpoint[1], port)
	traces := config.Service.Pipelines["traces"]
	if !slices.Equal(traces.Receivers, []string{"otlp"}) || len(traces.Exporters) == 0 {
		t.Errorf("the collector's pipeline is %+v", traces)
	}
	for _, name := range traces.Exporters {
		p.reachable(t, "the collector", config.Exporters[name].Endpoint, "4317")
	}
	for _, name := range traces.Processors {
		if _, ok := config.Processors[name]; !ok {
			t.Errorf("the collector's pipeline has the processor %s, which is not configured", name)
		}
	}
	collector := p.Services["collector"]
	if at := collector.mounted(t, "deploy/otel/collector.yaml"); !slices.Contains(collector.Command, "--config="+at) {
		t.Errorf("the collector is started with %v, its configuration is at %s", collector.Command, at)
	}
}

// Prometheus scrapes every edge's admin address, and Redis' exporter, and knows the alerts.
func TestPrometheusScrapesTheEdges(t *testing.T) {
	p := load(t)
	var config struct {
		RuleFiles     []string `yaml:"rule_files"`
		ScrapeConfigs []struct {
			JobName       string                       `yaml:"job_name"`
			StaticConfigs []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	decode(t, "deploy/prometheus/prometheus.yml", &config)
	targets := map[string][]string{}
	for _, c := range config.ScrapeConfigs {
		targets[c.JobName] = c.StaticConfigs[0].Targets
	}
	var want []string
	for _, name := range p.edges() {
		_, port, _ := net.SplitHostPort(*p.Services[name].Environment["MCPEDGE_ADMIN_ADDRESS"])
		want = append(want, name+":"+port)
	}
	if !slices.Equal(targets["mcpedge"], want) {
		t.Errorf("the job mcpedge scrapes %v, the edges' admin addresses are %v", targets["mcpedge"], want)
	}
	if len(targets["redis"]) != 1 {
		t.Fatalf("the job redis scrapes %v", targets["redis"])
	}
	p.reachable(t, "Prometheus", targets["redis"][0], "9121")
	for _, file := range config.RuleFiles {
		if text := read(t, "deploy/chart/files/"+file); !strings.Contains(text, `job="mcpedge"`) {
			t.Errorf("%s has no rules about the job mcpedge", file)
		}
	}
	prometheus := p.Services["prometheus"]
	at := prometheus.mounted(t, "deploy/prometheus/prometheus.yml")
	for _, file := range config.RuleFiles {
		if rules := prometheus.mounted(t, "deploy/chart/files/"+file); rules != path.Join(path.Dir(at), file) {
			t.Errorf("%s is at %s, beside no %s", file, rules, at)
		}
	}
	for _, flag := range []string{"--config.file=" + at, "--enable-feature=exemplar-storage"} {
		if !slices.Contains(prometheus.Command, flag) {
			t.Errorf("Prometheus is started with %v: want %s", prometheus.Command, flag)
		}
	}
}

// Grafana finds its data sources and dashboards, and exemplars lead to traces.
func TestGrafanaIsProvisioned(t *testing.T) {
	p := load(t)
	grafana := p.Services["grafana"]
	if at := grafana.mounted(t, "deploy/grafana/provisioning"); at != "/etc/grafana/provisioning" {
		t.Errorf("provisioning is at %s", at)
	}
	var sources struct {
		Datasources []struct {
			UID, Type, URL string
			JSONData       struct {
				Exemplars []struct {
					Name string
					UID  string `yaml:"datasourceUid"`
				} `yaml:"exemplarTraceIdDestinations"`
			} `yaml:"jsonData"`
		}
	}
	decode(t, "deploy/grafana/provisioning/datasources/datasources.yml", &sources)
	ports := map[string]string{"prometheus": "9090", "jaeger": "16686"}
	known := map[string]string{}
	for _, s := range sources.Datasources {
		known[s.UID] = s.Type
		u, err := url.Parse(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		p.reachable(t, "Grafana", u.Host, ports[s.Type])
	}
	if len(known) != len(ports) {
		t.Errorf("data sources %v, want one of each of %v", known, ports)
	}
	for _, s := range sources.Datasources {
		for _, e := range s.JSONData.Exemplars {
			if e.Name != "trace_id" || known[e.UID] != "jaeger" {
				t.Errorf("exemplars lead by %s to %s", e.Name, e.UID)
			}
		}
	}
	var boards struct {
		Providers []struct{ Options struct{ Path string } }
	}
	decode(t, "deploy/grafana/provisioning/dashboards/dashboards.yml", &boards)
	at := grafana.mounted(t, "deploy/chart/files/dashboards")
	if len(boards.Providers) != 1 || boards.Providers[0].Options.Path != at {
		t.Errorf("dashboards are at %s, Grafana looks at %+v", at, boards.Providers)
	}
	home := *grafana.Environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
	if path.Dir(home) != at || read(t, "deploy/chart/files/dashboards/"+path.Base(home)) == "" {
		t.Errorf("Grafana begins with %s, dashboards are at %s", home, at)
	}
}
