package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestNeeds(t *testing.T) {
	for _, c := range []struct {
		expr   string
		labels []string
		want   string
	}{
		{`up{job="a",b!~"c.*"} == 0`, nil, `up[b job]`},
		{`sum by (a) (rate(m{b="c"}[5m]))`, []string{"a"}, `m[a b]`},
		{`histogram_quantile(0.9, sum by (le, t) (rate(m_bucket[5m])))`, []string{"t"}, `m_bucket[le t]`},
		{`topk(3, sum by (a) (m))`, []string{"a"}, `m[a]`},
		{`sum without (a) (m)`, []string{"b"}, `m[a b]`},
		{`sum by (a) (m) / on (a) n`, []string{"a"}, `m[a] n[a]`},
		{`m * on (a) group_left (v) n`, []string{"v", "w"}, `m[a w] n[a v]`},
		{`m and on (a) n{c="d"}`, []string{"b"}, `m[a b] n[a c]`},
		{`(sum by (a) (m) or vector(0)) / 2`, []string{"a"}, `m[a]`},
		{`absent(m{a="b"}) or n`, nil, `m[a] n[]`},
		{`label_replace(m, "to", "$1", "from", "(.*)")`, []string{"to"}, `m[from]`},
		{`max_over_time(m[1h:1m]) - m offset 5m`, []string{"a"}, `m[a] m[a]`},
	} {
		got := needs(Query{c.expr, c.labels})
		var text []string
		for _, s := range got.Selectors {
			text = append(text, fmt.Sprintf("%s%v", s.Metric, s.Labels))
		}
		if joined := strings.Join(text, " "); joined != c.want || got.Error != "" {
			t.Errorf("%s for %v needs %s (%s), want %s", c.expr, c.labels, joined, got.Error, c.want)
		}
	}
}

func TestNeverThere(t *testing.T) {
	for expr, want := range map[string]string{
		`sum by (b) (m)`:                 "the label a is read",
		`sum without (a) (m)`:            "the label a is read",
		`m / on (b) n`:                   "the label a is read",
		`m / ignoring (a) n`:             "the label a is read",
		`sum(m) / (sum by (a) (n))`:      "the label a is read",
		`{b="c"}`:                        "names no metric",
		`rate(m)`:                        "expected type range vector",
		`histogram_quantile(0.9, m[5m])`: "expected type instant vector",
	} {
		if got := needs(Query{expr, []string{"a"}}); !strings.Contains(got.Error, want) {
			t.Errorf("%s: error %q, want %q", expr, got.Error, want)
		}
	}
}

func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(strings.NewReader(`[{"expr":"m > 1","labels":["a"]},{"expr":"m["}]`), &out); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.String(), `[{"selectors":[{"metric":"m","labels":["a"]}],"compared":"m \u003e bool 1"},{"selectors":null,"error":"`) {
		t.Errorf("it says %s", &out)
	}
	if err := run(strings.NewReader(`{}`), &out); err == nil || !strings.Contains(err.Error(), "list of queries") {
		t.Errorf("of what is no list: %v", err)
	}
}
