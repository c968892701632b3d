package telemetry

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// query is an expression with the labels that are read from its result.
type query struct {
	where  string
	Expr   string   `json:"expr"`
	Labels []string `json:"labels"`
	// alert: it gives nothing as long as all is well, or nothing happens.
	alert bool
	// instant: it is asked of one time, not of a range.
	instant bool
	// variable: asked are the values of the only one of Labels.
	variable bool
	needs
}

// needs are what tools/promql finds out.
type needs struct {
	Selectors []struct {
		Metric string
		Labels []string
	} `json:"selectors"`
	// Compared is the query with comparisons that give 0 or 1.
	Compared string `json:"compared"`
	Error    string `json:"error"`
}

var (
	legendLabel = regexp.MustCompile(`\{\{\s*(\w+)\s*\}\}`)
	alertLabel  = regexp.MustCompile(`\$labels\.(\w+)`)
	promqlBlock = regexp.MustCompile("(?s)```promql\n(.*?)\n```")
	labelValues = regexp.MustCompile(`^label_values\((.+), (\w+)\)$`)
)

func labels(re *regexp.Regexp, text string) (out []string) {
	for _, m := range re.FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// queries are all that a dashboard or an alert asks Prometheus, and what that needs.
func queries(t *testing.T) []query {
	t.Helper()
	var all []query
	for _, b := range boards(t) {
		all = append(all, b.queries(t)...)
	}
	for _, r := range alerts(t) {
		var text string
		for _, a := range r.Annotations {
			text += a
		}
		all = append(all, query{where: r.Alert, Expr: r.Expr, Labels: labels(alertLabel, text), alert: true})
	}
	all = append(all, documentedQueries(t)...)
	parse(t, all)
	return all
}

// documentedQueries are the queries that the documentation gives to operators, one a line but for those that go on below.
func documentedQueries(t *testing.T) (all []query) {
	t.Helper()
	files, err := filepath.Glob("../../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range promqlBlock.FindAllStringSubmatch(string(text), -1) {
			for _, expr := range strings.Split(strings.ReplaceAll(block[1], "\n  ", " "), "\n") {
				all = append(all, query{where: "docs/" + filepath.Base(file), Expr: expr})
			}
		}
	}
	if len(all) == 0 {
		t.Fatal("the documentation has no queries")
	}
	return all
}

func (b *board) queries(t *testing.T) (all []query) {
	for _, p := range b.Panels {
		var columns []string
		for _, x := range p.Transformations {
			if x.Options.ByField != "" {
				columns = append(columns, x.Options.ByField)
			}
			for from := range x.Options.RenameByName {
				if !strings.HasPrefix(from, "Value") {
					columns = append(columns, from)
				}
			}
		}
		for _, q := range p.Targets {
			all = append(all, query{where: b.file + ": " + p.Title, Expr: q.Expr, Labels: append(labels(legendLabel, q.LegendFormat), columns...), instant: q.Instant})
		}
	}
	for _, a := range b.Annotations.List {
		if a.Expr != "" {
			all = append(all, query{where: b.file + ": an annotation", Expr: a.Expr, Labels: labels(legendLabel, a.TitleFormat), alert: true})
		}
	}
	for _, v := range b.Templating.List {
		if v.Type != "query" {
			continue
		}
		m := labelValues.FindStringSubmatch(v.Definition)
		if m == nil {
			t.Errorf("%s: the variable %s is %q, which is not understood", b.file, v.Name, v.Definition)
			continue
		}
		all = append(all, query{where: b.file + ": $" + v.Name, Expr: m[1], Labels: m[2:], variable: true})
	}
	return all
}

// grafana has what Grafana puts into queries, for the fixture where a backend is asked about.
var grafana = strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h", "$backend", "fixture")

// fill puts into a query what Grafana does; other variables stand for all there is.
func fill(expr string) string { return used.ReplaceAllString(grafana.Replace(expr), ".*") }

// parse has Prometheus's parser say what queries need.
func parse(t *testing.T, all []query) {
	t.Helper()
	asked := slices.Clone(all)
	for i := range asked {
		asked[i].Expr = fill(asked[i].Expr)
		if left := builtIn.FindString(asked[i].Expr); left != "" {
			t.Errorf("%s uses %s: tell this test what Grafana puts there", asked[i].where, left)
		}
	}
	var found []needs
	if promql(t, asked, &found); len(found) != len(all) {
		t.Fatalf("tools/promql says of %d queries: %v", len(all), found)
	}
	for i := range all {
		all[i].needs = found[i]
	}
}

// promql gives something to tools/promql and reads what it says of it.
func promql(t *testing.T, in, out any, arguments ...string) {
	t.Helper()
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", append([]string{"run", "-C", "../../../tools", "./promql"}, arguments...)...)
	var said, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), &said, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("tools/promql: %v: %s", err, &errs)
	}
	if err := json.Unmarshal(said.Bytes(), out); err != nil {
		t.Fatalf("tools/promql says %s: %v", &said, err)
	}
}

// foreign are the metrics that others export: Prometheus itself, and redis_exporter.
var foreign = map[string]bool{"up": true, "redis_memory_used_bytes": true, "redis_memory_max_bytes": true}

// Every metric that a panel, an alert or the documentation names, and each label it uses of it, is one that edges
// export; and each query gives something.
func TestQueriesNeedWhatEdgesExport(t *testing.T) {
	x := exercise(t, observer{})
	exported, all := x.series, queries(t)
	defer x.evaluate(t, all)
	named := map[string]bool{}
	for _, q := range all {
		if q.Error != "" {
			t.Errorf("%s: %s\n%s", q.where, q.Error, q.Expr)
		}
		for _, s := range q.Selectors {
			named[s.Metric] = true
			labels := exported[s.Metric]
			if labels == nil && !foreign[s.Metric] {
				t.Errorf("%s: no edge exports %s", q.where, s.Metric)
				continue
			}
			for _, l := range s.Labels {
				if l != "job" && l != "instance" && !labels[l] {
					t.Errorf("%s: %s has no label %s", q.where, s.Metric, l)
				}
			}
		}
	}
	for name := range exported {
		base := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")
		ours := strings.HasPrefix(name, "mcp") // the runtime has more than anybody needs to see
		if ours && !named[name] && !named[base+"_bucket"] {
			t.Errorf("%s is exported, and neither a panel nor an alert shows it", name)
		}
	}
}
