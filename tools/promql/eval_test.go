package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// Queries have the results that Prometheus has for the same scrapes.
func TestEval(t *testing.T) {
	text := func(calls, slow int) string {
		return fmt.Sprintf("# TYPE c_total counter\nc_total{a=\"x\"} %d\n# TYPE g gauge\ng 7\n"+
			"# TYPE h histogram\nh_bucket{le=\"1\"} %d\nh_bucket{le=\"2\"} %d\nh_bucket{le=\"+Inf\"} %d\nh_sum 9\nh_count %d\n",
			calls, calls-slow, calls, calls, calls)
	}
	target := map[string]string{"job": "j", "instance": "i"}
	e := Evaluation{At: 1060, Scrapes: []Scrape{{1000, target, text(0, 0)}, {1060, target, text(60, 30)}}}
	want := []string{}
	for _, c := range []struct {
		q    Expression
		want string
	}{
		{Expression{Expr: `g`}, `[map[__name__:g instance:i job:j] 7]`},
		{Expression{Expr: `sum by (a) (increase(c_total[1m1s]))`}, `[map[a:x] 60]`},
		{Expression{Expr: `histogram_quantile(0.5, sum by (le) (rate(h_bucket[5m])))`}, `[map[] 1]`},
		{Expression{Expr: `up{job="j"}`}, `[map[__name__:up instance:i job:j] 1]`},
		{Expression{Expr: `g > 8`}, ``},
		{Expression{Expr: `g > 8 and up > 0`, Compared: true}, `[map[instance:i job:j] 0]`},
		{Expression{Expr: `nothing`}, ``},
		{Expression{Expr: `1 + 1`}, `[map[] 2]`},
		{Expression{Expr: `g[5m]`}, `error`},
		{Expression{Expr: `g[`, Compared: true}, `error`},
	} {
		e.Queries = append(e.Queries, c.q)
		want = append(want, c.want)
	}
	in, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := runEval(bytes.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	var all []Result
	if err := json.Unmarshal(out.Bytes(), &all); err != nil {
		t.Fatal(err)
	}
	for i, r := range all {
		var got []string
		for _, s := range r.Samples {
			got = append(got, fmt.Sprintf("[%v %s]", s.Labels, s.Value))
		}
		if r.Error != "" {
			got = []string{"error"}
		}
		if joined := strings.Join(got, " "); joined != want[i] {
			t.Errorf("%s: %s (%s), want %s", e.Queries[i].Expr, joined, r.Error, want[i])
		}
	}
	for _, bad := range []string{`[]`, `{"scrapes":[{"text":"what is this"}]}`} {
		if err := runEval(strings.NewReader(bad), &out); err == nil {
			t.Errorf("no error for %s", bad)
		}
	}
}
