//go:build prometheus

package telemetry

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/process"
	"github.com/mcpedge/mcpedge/tests/helpers/replicas"
)

// prometheus is a server with the configuration of deploy/prometheus.
type prometheus struct {
	t   *testing.T
	url string
	// exporter: it scrapes a redis_exporter, too.
	exporter bool
	began    time.Time
}

// startPrometheus runs the program that PROMETHEUS_BINARY names until the test ends. It scrapes the replicas, and what
// exports figures of their Redis where that is installed.
func startPrometheus(t *testing.T, group replicas.Group, redis string) *prometheus {
	t.Helper()
	program := os.Getenv("PROMETHEUS_BINARY")
	if program == "" {
		t.Fatal("PROMETHEUS_BINARY does not name a Prometheus: make stages ONLY=dashboards builds one and sets it")
	}
	addrs, err := process.FreeAddrs(2)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p := &prometheus{t: t, url: "http://" + addrs[0], exporter: startExporter(t, dir, addrs[1], redis), began: time.Now()}
	copyChanged(t, dir, "prometheus/prometheus.yml", "edge-1:9090", group[0].Admin, "edge-2:9090", group[1].Admin, "redis-exporter:9121", addrs[1],
		"scrape_interval: 15s", "scrape_interval: 1s", "evaluation_interval: 15s", "evaluation_interval: 1s")
	copyChanged(t, dir, "chart/files/alerts.yml")
	server := start(t, program, filepath.Join(dir, "prometheus.log"), "--config.file="+filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+addrs[0], "--enable-feature=exemplar-storage")
	if err := process.AwaitOK(t.Context(), p.url+"/-/ready", server); err != nil {
		t.Fatal(err)
	}
	return p
}

// startExporter runs a redis_exporter, and says whether there is one. In CI there has to be.
func startExporter(t *testing.T, dir, addr, redis string) bool {
	t.Helper()
	const program = "prometheus-redis-exporter" // as Debian's package and its program are called
	if _, err := exec.LookPath(program); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%v: install it, such as with apt-get install %s", err, program)
		}
		t.Logf("queries about Redis' memory are left out: %v", err)
		return false
	}
	p := start(t, program, filepath.Join(dir, "exporter.log"), "--web.listen-address="+addr, "--redis.addr="+redis)
	if err := process.AwaitListening(t.Context(), addr, p); err != nil {
		t.Fatal(err)
	}
	return true
}

// start runs a program until the test ends.
func start(t *testing.T, program, log string, args ...string) *process.Process {
	t.Helper()
	p, err := process.Start(filepath.Base(program), program, log, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Kill() })
	return p
}

// copyChanged copies a file of deploy to a folder, with one text in place of another, each of which it has once.
func copyChanged(t *testing.T, dir, name string, changes ...string) {
	t.Helper()
	raw, err := os.ReadFile(deployed + name)
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for i := 0; i < len(changes); i += 2 {
		if n := strings.Count(text, changes[i]); n != 1 {
			t.Fatalf("%s has %q %d times, want it once", name, changes[i], n)
		}
		text = strings.Replace(text, changes[i], changes[i+1], 1)
	}
	if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// ask reads the data that the API answers with.
func (p *prometheus) ask(path string, query url.Values, data any) error {
	resp, err := http.Get(p.url + path + "?" + query.Encode())
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return fmt.Errorf("%s: %w", resp.Status, err)
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s: %s", resp.Status, answer.Error)
	}
	return json.Unmarshal(answer.Data, data)
}

// see waits until a replica is scraped once more.
func (p *prometheus) see(e *replicas.Edge) {
	p.t.Helper()
	from := seconds(time.Now())
	await.Until(p.t, "a scrape of "+e.Name(), func() bool {
		at, err := p.values("/api/v1/query", url.Values{"query": {fmt.Sprintf("timestamp(mcpedge_ready{instance=%q})", e.Admin)}})
		if err != nil {
			p.t.Fatal(err)
		}
		return len(at) == 1 && at[0] > from
	})
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// values are all numbers that a query gives.
func (p *prometheus) values(path string, query url.Values) (out []float64, err error) {
	var data struct {
		ResultType string
		Result     json.RawMessage
	}
	if err := p.ask(path, query, &data); err != nil {
		return nil, err
	}
	var samples [][2]any
	if data.ResultType == "scalar" {
		samples = make([][2]any, 1)
		err = json.Unmarshal(data.Result, &samples[0])
	} else {
		var series []struct {
			Value  *[2]any
			Values [][2]any
		}
		err = json.Unmarshal(data.Result, &series)
		for _, s := range series {
			if samples = append(samples, s.Values...); s.Value != nil {
				samples = append(samples, *s.Value)
			}
		}
	}
	for _, s := range samples {
		text, _ := s[1].(string)
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, err
		}
		if !math.IsNaN(v) {
			out = append(out, v)
		}
	}
	return out, err
}

// answers says how many numbers, or values of a variable, a query gives, asked as Grafana asks it.
func (p *prometheus) answers(q *query) (int, error) {
	expr := fill(q.Expr)
	if q.alert {
		expr = q.Compared
	}
	if q.variable {
		var names []string
		err := p.ask("/api/v1/label/"+q.Labels[0]+"/values", url.Values{"match[]": {expr}}, &names)
		return len(names), err
	}
	now := strconv.FormatFloat(seconds(time.Now()), 'f', 3, 64)
	path, ask := "/api/v1/query", url.Values{"query": {expr}, "time": {now}}
	if !q.instant {
		path, ask = "/api/v1/query_range", url.Values{"query": {expr}, "step": {"1"}, "end": {now},
			"start": {strconv.FormatFloat(seconds(p.began), 'f', 3, 64)}}
	}
	got, err := p.values(path, ask)
	return len(got), err
}

// Prometheus, with the configuration that is deployed, has an answer to every query of the dashboards, the alerts and the
// documentation; takes the alerts, and sees a replica that is lost; and knows the traces behind durations.
func TestPrometheus(t *testing.T) {
	t.Setenv("OTEL_TRACES_EXPORTER", "console") // for exemplars: there are none without a trace
	var p *prometheus
	var lost string
	exercise(t, observer{
		ready: func(group replicas.Group, redis string) {
			p, lost = startPrometheus(t, group, redis), group[0].Admin
		},
		see: func(e *replicas.Edge) { p.see(e) },
		over: func() {
			for _, q := range queries(t) {
				if q.foreign() && !p.exporter || silent[q.where] != "" {
					continue
				}
				if n, err := p.answers(&q); n == 0 || err != nil {
					t.Errorf("%s gives %d values: %v\n%s", q.where, n, err, q.Expr)
				}
			}
			p.targets(t, lost)
			p.rules(t, lost)
			p.exemplars(t)
		},
	})
}

// targets: all are scraped but the replica that is lost.
func (p *prometheus) targets(t *testing.T, lost string) {
	t.Helper()
	var data struct {
		ActiveTargets []struct {
			Labels            map[string]string
			Health, LastError string
		}
	}
	if err := p.ask("/api/v1/targets", nil, &data); err != nil {
		t.Fatal(err)
	}
	jobs := map[string]int{}
	for _, one := range data.ActiveTargets {
		jobs[one.Labels["job"]]++
		up := one.Labels["instance"] != lost && (one.Labels["job"] != "redis" || p.exporter)
		if (one.Health == "up") != up {
			t.Errorf("the target %v is %s: %s", one.Labels, one.Health, one.LastError)
		}
	}
	if jobs["mcpedge"] != 2 || jobs["redis"] != 1 {
		t.Errorf("targets by job are %v", jobs)
	}
}

// rules: all alerts are there and can be evaluated, and the one about a replica waits for its time to be over.
func (p *prometheus) rules(t *testing.T, lost string) {
	t.Helper()
	var data struct {
		Groups []struct {
			Rules []struct {
				Name, Health, LastError string
				Alerts                  []struct {
					State       string
					Labels      map[string]string
					Annotations map[string]string
				}
			}
		}
	}
	health, summary := map[string]string{}, ""
	await.Until(t, "the lost replica to be noticed by the alert", func() bool {
		if err := p.ask("/api/v1/rules", url.Values{"type": {"alert"}}, &data); err != nil {
			t.Fatal(err)
		}
		for _, g := range data.Groups {
			for _, r := range g.Rules {
				health[r.Name] = r.Health + r.LastError
				for _, a := range r.Alerts {
					if r.Name == "MCPEdgeReplicaNotReady" && a.Labels["instance"] == lost && a.State == "pending" {
						summary = a.Annotations["summary"]
					}
				}
			}
		}
		return summary != ""
	})
	if want := lost + " takes no traffic"; summary != want {
		t.Errorf("the alert says %q, want %q", summary, want)
	}
	for _, r := range alerts(t) {
		if health[r.Alert] != "ok" {
			t.Errorf("%s is %q, want ok", r.Alert, health[r.Alert])
		}
	}
}

// exemplars: the histograms of durations lead to traces.
func (p *prometheus) exemplars(t *testing.T) {
	t.Helper()
	for _, metric := range []string{"mcp_server_operation_duration_seconds_bucket", "mcpedge_backend_call_duration_seconds_bucket"} {
		var data []struct {
			Exemplars []struct{ Labels map[string]string }
		}
		if err := p.ask("/api/v1/query_exemplars", url.Values{
			"query": {metric}, "start": {strconv.FormatInt(p.began.Unix(), 10)}, "end": {strconv.FormatInt(time.Now().Unix()+1, 10)},
		}, &data); err != nil {
			t.Fatal(err)
		}
		if len(data) == 0 || len(data[0].Exemplars) == 0 || len(data[0].Exemplars[0].Labels["trace_id"]) != 32 {
			t.Errorf("the exemplars of %s are %v, want some with a trace_id", metric, data)
		}
	}
}
