package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/bench/internal/load"
	"github.com/mcpedge/mcpedge/bench/internal/stats"
)

func TestCasesHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range allCases(programs{{"other", "other"}}) {
		if seen[c.name] || !regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`).MatchString(c.name) {
			t.Errorf("a case is called %q", c.name)
		}
		seen[c.name] = true
		for _, l := range c.claims {
			if l.bound != (stats.Bound{}) && c.rounds < shown && !c.cold {
				t.Errorf("%s has a bound on %s and %d rounds: want %d", c.name, l.metric, c.rounds, shown)
			}
			if unitOf(l.metric) == "" {
				t.Errorf("%s is about %q, which has no place in the tables", c.name, l.metric)
			}
		}
	}
}

func unitOf(m metric) string {
	for _, row := range metrics {
		if row.metric == m {
			return row.unit
		}
	}
	return ""
}

// counting is a subject whose rounds find the numbers 1, 2, 3 …, times f.
func counting(name string, f float64, order *[]string) subject {
	n := 0.0
	return subject{name: name, round: func(time.Duration) (sample, error) {
		n++
		*order = append(*order, name)
		return sample{calls: int(n), values: map[metric]float64{callRate: n * f}}, nil
	}}
}

func TestMeasure(t *testing.T) {
	var order []string
	subjects := []subject{counting("edge", 2, &order), counting("sdk", 1, &order)}
	found, calls, err := measure(subjects, 40, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	edge := found["edge"][callRate]
	if len(edge) != 40 || edge[0] != 4 || len(calls["sdk"]) != 40 || calls["sdk"][0] != 2 {
		t.Errorf("the warm-up counts, or rounds are missing: %v, %v", edge, calls["sdk"])
	}
	firsts := map[string]bool{}
	for i := 0; i < len(order); i += 2 {
		firsts[order[i]] = true
		if order[i] == order[i+1] {
			t.Fatalf("a round has %s twice", order[i])
		}
	}
	if len(firsts) != 2 {
		t.Error("the order is the same in all rounds")
	}
	r, err := newReport("small-8", subjects, []claim{ratio(callRate, "edge", "sdk").atLeast(1.9), figureOf(callRate, "sdk"),
		{metric: callRate, of: "edge", over: "sdk", minus: true}}, found, calls)
	if err != nil {
		t.Fatal(err)
	}
	if c := r.Claims[0]; c.Found.Mean < 1.999 || c.Found.Mean > 2.001 || c.Verdict != stats.Yes {
		t.Errorf("the ratio: %s", c)
	}
	if r.Claims[1].Found.Mean != 21.5 || r.Claims[2].Found.Mean != 21.5 || r.Claims[1].Verdict != "" {
		t.Errorf("the figure and the difference: %s, %s", r.Claims[1], r.Claims[2])
	}
	if found, _, _ := measure(subjects, 3, 0, true); len(found["edge"][callRate]) != 3 || found["edge"][callRate][0] != 84 {
		t.Errorf("a cold case warms up: %v", found["edge"])
	}
}

func TestDisturbed(t *testing.T) {
	for _, c := range []struct {
		stolen, of time.Duration
		want       bool
	}{{0, time.Second, false}, {ticks, ticks, false}, {ticks, 12 * ticks, true}, {ticks, 80 * ticks, false}, {2 * ticks, 80 * ticks, true}} {
		if got := disturbed(c.stolen, c.of); got != c.want {
			t.Errorf("%v of %v: %t", c.stolen, c.of, got)
		}
	}
}

func TestProcessesTakeTurns(t *testing.T) {
	var order []string
	first, second := counting("edge", 1, &order), counting("edge", 100, &order)
	subjects := inTurn([]subject{first, counting("sdk", 1, &order), second})
	if len(subjects) != 2 || subjects[0].name != "edge" || subjects[1].name != "sdk" {
		t.Fatalf("the subjects are %v", subjects)
	}
	found, _, err := measure(subjects, 4, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	if got := found["edge"][callRate]; !slices.Equal(got, []float64{2, 200, 3, 300}) {
		t.Errorf("the rounds found %v", got)
	}
}

func TestClaimsAboutNothing(t *testing.T) {
	found := series{"edge": {callRate: {1, 2}}, "sdk": {callRate: {1}}}
	for _, c := range []claim{ratio(callRate, "edge", "sdk"), ratio(p99, "edge", "sdk"), ratio(callRate, "edge", "bridge"), figureOf(callRate, "sdk")} {
		if f, err := c.judge(found); err == nil {
			t.Errorf("%s was found: %v", f.what(), f.Found)
		}
	}
}

// made is a report of two rounds.
func made(t *testing.T) report {
	t.Helper()
	found := series{
		"edge": {callRate: {1000, 2000}, p99: {5, 6}, cpuTime: {100, 120}, allocs: {10, 10}},
		"sdk":  {callRate: {500, 500}, p99: {10, 6}},
	}
	r, err := newReport("modern-64", []subject{{name: "edge"}, {name: "sdk"}},
		[]claim{ratio(callRate, "edge", "sdk").atLeast(2), {metric: p99, of: "edge", over: "sdk", minus: true}},
		found, map[string][]int{"edge": {400, 800}, "sdk": {200, 200}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestBenchmarkFormat(t *testing.T) {
	var b strings.Builder
	if err := writeBenchmarks(&b, []report{made(t)}, 400*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	head, lines, _ := strings.Cut(b.String(), "Benchmark")
	for line := range strings.Lines(head) {
		if !regexp.MustCompile(`^[a-z]+: .+\n$`).MatchString(line) {
			t.Errorf("a line of the configuration is %q", line)
		}
	}
	if !strings.Contains(head, "slice: 400ms\n") {
		t.Errorf("the configuration is %s", head)
	}
	want := `Modern-64/edge 400 1e+06 ns/op 5e+06 p99-ns 100000 cpu-ns/op 10 allocs/op 2 calls/s-over-sdk
BenchmarkModern-64/edge 800 500000 ns/op 6e+06 p99-ns 120000 cpu-ns/op 10 allocs/op 4 calls/s-over-sdk
BenchmarkModern-64/sdk 200 2e+06 ns/op 1e+07 p99-ns
BenchmarkModern-64/sdk 200 2e+06 ns/op 6e+06 p99-ns
`
	if lines != want {
		t.Errorf("the rounds are\n%s\nwant\n%s", lines, want)
	}
}

// Many rounds are few lines.
func TestBenchmarksOfManyRounds(t *testing.T) {
	rates, calls := make([]float64, 600), make([]int, 600)
	for i := range rates {
		rates[i], calls[i] = []float64{1000, 3000}[i%2], 5
	}
	r, err := newReport("modern-64", []subject{{name: "edge"}}, nil, series{"edge": {callRate: rates}}, map[string][]int{"edge": calls})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := writeBenchmarks(&b, []report{r}, time.Second); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "BenchmarkModern-64/edge 100 500000 ns/op\n"); n != mostLines {
		t.Errorf("%d lines of 20 rounds, want %d:\n%.500s", n, mostLines, b.String())
	}
}

func TestPrinted(t *testing.T) {
	var b strings.Builder
	made(t).print(&b, 3*time.Second)
	ratio, figures := strings.Index(b.String(), "calls/s edge / sdk"), strings.Index(b.String(), "1500 calls/s")
	if ratio < 0 || figures < ratio || !strings.Contains(b.String(), "≥ 2: not shown") {
		t.Errorf("ratios come first, with their verdicts:\n%s", b.String())
	}
	b.Reset()
	printVerdicts(&b, []report{made(t)})
	if strings.Count(b.String(), "modern-64") != 1 || !strings.Contains(b.String(), "not shown") || strings.Contains(b.String(), "p99") {
		t.Errorf("the verdicts, and they alone:\n%s", b.String())
	}
}

func TestMemStats(t *testing.T) {
	m := memStats("# Alloc = 5\n# Stack = 7 / 9\n# PauseNs = [1 2]\n# Mallocs = 11\nnothing\n")
	if m["Alloc"] != 5 || m["Stack"] != 7 || m["Mallocs"] != 11 || len(m) != 3 {
		t.Errorf("the counters are %v", m)
	}
}

func TestListingFollowsTheCursors(t *testing.T) {
	pages := map[string]string{
		"":                  `{"tools":[{"inputSchema":{}},{"inputSchema":{}}],"nextCursor":"second"}`,
		`"cursor":"c\\d"`:   `{"tools":[{"inputSchema":{}}]}`,
		`"cursor":"second"`: `{"nextCursor":"c\\d","tools":[{"inputSchema":{}}]}`,
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := new(strings.Builder)
		_ = r.Write(body)
		_, _ = w.Write([]byte(pages[regexp.MustCompile(`"cursor":"[^"]*"`).FindString(body.String())]))
	}))
	defer s.Close()
	addr := s.Listener.Addr().String()
	c, err := modern.connect(addr, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := load.Once(addr, listing(c, 4)); err != nil {
		t.Error(err)
	}
	if err := load.Once(addr, listing(c, 5)); err == nil {
		t.Error("a listing that lacks a tool is fine")
	}
}

func TestProfile(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.URL.Path)) }))
	defer s.Close()
	var order []string
	edge, other := counting("edge", 1, &order), counting("other", 1, &order)
	edge.proc, other.proc = &process{admin: s.Listener.Addr().String()}, &process{}
	dir := t.TempDir()
	if err := profile(dir, "modern-8", []subject{edge, other}, 0); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "modern-8-edge.pprof")); err != nil || string(data) != "/debug/pprof/profile" {
		t.Errorf("the profile is %q, %v", data, err)
	}
	if len(order) == 0 || order[len(order)-1] != "edge" {
		t.Errorf("the rounds under the profile are of %v", order)
	}
}

func TestAClosedFleetStartsNothing(t *testing.T) {
	f, err := newFleet()
	if err != nil {
		t.Fatal(err)
	}
	f.close()
	if _, err := f.begin(nil); !errors.Is(err, errClosed) {
		t.Errorf("an edge starts: %v", err)
	}
	if _, err := f.redisServer(); !errors.Is(err, errClosed) {
		t.Errorf("Redis starts: %v", err)
	}
	if _, err := os.Stat(f.dir); !os.IsNotExist(err) {
		t.Errorf("the programs stay: %v", err)
	}
}
