package telemetry

import (
	"math"
	"strconv"
	"strings"
	"testing"
)

// expression is a query as tools/promql evaluates it.
type expression struct {
	Expr     string `json:"expr"`
	Compared bool   `json:"compared"`
}

// result is what a query gives.
type result struct {
	Samples []struct {
		Labels map[string]string
		Value  string
	}
	Error string
}

// silent are the queries that rightly give nothing of what the test does, each with the reason.
var silent = map[string]string{
	"MCPEdgeBackendUnreachable": "`unless` leaves nothing where all replicas see the same",
}

// told is what queries of the documentation have to say of what the test does, by what they have in them and the value of
// their label: faults, tool errors, refusals and a slow backend each show in their own query and in no other.
var told = map[string][]struct{ has, label, value string }{
	"docs/production.md": {
		{`error_type=~"-32603`, "break", "1"},
		{`error_type=~"-32603`, "refuse", ""},
		{`error_type=~"-32603`, "count", ""},
		{`error_type=~"-32603`, "seldom", ""},
		{`error_type="tool_error"`, "break", ""},
		{`error_type="tool_error"`, "refuse", "1"},
		{`error_type="tool_error"`, "count", ""},
		{`error_type="tool_error"`, "seldom", ""},
		{`error_type!~"|tool_error`, "break", ""},
		{`error_type!~"|tool_error`, "refuse", ""},
		{`error_type!~"|tool_error`, "count", "0.5"}, // its other half has too many arguments
		{`error_type!~"|tool_error`, "seldom", "1"},  // but for the first call, before the first scrape
		{`error_type=~"-32603`, "dawdle", ""},
		{`error_type="tool_error"`, "dawdle", ""},
		{`error_type!~"|tool_error`, "dawdle", ""},
		{"histogram_quantile(0.99, sum by (le, gen_ai_tool_name)", "dawdle", slow},
		{"histogram_quantile(0.99, sum by (le, gen_ai_tool_name)", "refuse", quick},
		{"histogram_quantile(0.99, sum by (le, gen_ai_tool_name)", "break", quick},
		{"histogram_quantile(0.99, sum by (le, mcpedge_backend_name)", "tardy", slow},
		{"histogram_quantile(0.99, sum by (le, mcpedge_backend_name)", "fixture", quick},
		{"max by (mcpedge_backend_name) (mcpedge_backend_calls)", "hollow", "0"},
		{"max by (mcpedge_backend_name) (mcpedge_backend_problems)", "hollow", "1"},
		{"max by (mcpedge_backend_name) (mcpedge_backend_problems)", "fixture", ""},
	},
}

// A percentile is as exact as the buckets of its histogram are narrow.
const slow, quick = "a second or more", "less than what is slow"

// fits says whether a value is the one wanted, or as wanted; slowest is the value of the same query that is slow.
func fits(got, want, slowest string) bool {
	if want != slow && want != quick {
		return got == want
	}
	v, err := strconv.ParseFloat(got, 64)
	if want == slow {
		return err == nil && v >= 1
	}
	most, _ := strconv.ParseFloat(slowest, 64)
	return err == nil && v < most
}

// slowest is the value of a result of a query that has to be slow; "": there is none.
func (r *result) slowest(q query) string {
	for _, want := range told[q.where] {
		if want.value == slow && strings.Contains(q.Expr, want.has) {
			return r.of(want.label)
		}
	}
	return ""
}

// evaluate asks the queries of what was scraped, by Prometheus's own engine. Of an alert it asks whether there is
// something to compare.
func (x *exported) evaluate(t *testing.T, all []query) {
	t.Helper()
	asked := make([]expression, len(all))
	for i, q := range all {
		asked[i] = expression{Expr: fill(q.Expr), Compared: q.alert}
	}
	var results []result
	promql(t, map[string]any{"scrapes": x.scrapes, "at": 3 * minute, "queries": asked}, &results, "eval")
	if len(results) != len(all) {
		t.Fatalf("%d results of %d queries", len(results), len(all))
	}
	for i, q := range all {
		r := results[i]
		if r.Error != "" {
			t.Errorf("%s: %s\n%s", q.where, r.Error, q.Expr)
			continue
		}
		if q.foreign() || silent[q.where] != "" {
			continue
		}
		for _, want := range told[q.where] {
			if strings.Contains(q.Expr, want.has) && !fits(r.of(want.label), want.value, r.slowest(q)) {
				t.Errorf("%s says %s of %s, want %s\n%s", q.where, r.of(want.label), want.label, want.value, q.Expr)
			}
		}
		if !r.some() {
			t.Errorf("%s gives nothing: %v\n%s", q.where, r.Samples, asked[i].Expr)
		}
	}
}

// foreign says whether a query needs what others export.
func (q *query) foreign() bool {
	for _, s := range q.Selectors {
		if foreign[s.Metric] && s.Metric != "up" {
			return true
		}
	}
	return false
}

// of is the value of the series that has a label of this value; "": there is none.
func (r *result) of(label string) string {
	for _, s := range r.Samples {
		for _, v := range s.Labels {
			if v == label {
				return s.Value
			}
		}
	}
	return ""
}

// some says whether there is a number among the samples.
func (r *result) some() bool {
	for _, s := range r.Samples {
		if v, err := strconv.ParseFloat(s.Value, 64); err == nil && !math.IsNaN(v) {
			return true
		}
	}
	return false
}
