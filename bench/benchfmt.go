package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
	"unicode"

	"github.com/mcpedge/mcpedge/bench/internal/stats"
)

// mostLines is how many lines a subject has at most: with more rounds, one is the mean of several.
const mostLines = 30

// writeBenchmarks writes the rounds in the format of Go benchmarks: for each subject and round, or so many
// rounds in a row, a line, as
//
//	BenchmarkModern-64/edge 4021 99475 ns/op 64250 cpu-ns/op 102 allocs/op 2.17 calls/s-over-sdk
//
// with the ratios of the claims, which compare between machines where nothing else does. The lines above
// them say which machine this is: benchstat compares no results that differ in them.
func writeBenchmarks(w io.Writer, reports []report, slice time.Duration) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "goos: %s\ngoarch: %s\npkg: github.com/mcpedge/mcpedge/bench\ncpu: %s\ncores: %d\ngoversion: %s\nslice: %s\n",
		runtime.GOOS, runtime.GOARCH, cpuModel(), runtime.NumCPU(), runtime.Version(), slice)
	for _, r := range reports {
		for _, s := range r.Subjects {
			calls := r.calls[s.Name]
			per := (len(calls) + mostLines - 1) / mostLines
			for first := 0; first < len(calls); first += per {
				end, done := min(first+per, len(calls)), 0
				for _, n := range calls[first:end] {
					done += n
				}
				fmt.Fprintf(b, "Benchmark%s/%s %d%s\n", exported(r.Case), s.Name, done, r.values(s, first, end))
			}
		}
	}
	return b.Flush()
}

// values are the figures of a subject's rounds from first until end, each before its unit.
func (r report) values(s subjectReport, first, end int) string {
	var b strings.Builder
	for _, m := range metrics {
		if v := s.Rounds[m.metric]; len(v) >= end {
			fmt.Fprintf(&b, " %.6g %s", m.value(stats.Mean(v[first:end])), m.unit)
		}
	}
	for _, f := range r.Claims {
		if f.Of == s.Name && f.Over != "" && !f.Minus {
			fmt.Fprintf(&b, " %.6g %s-over-%s", stats.Mean(f.rounds[first:end]), f.Metric, f.Over)
		}
	}
	return b.String()
}

// exported is the name with a capital, as a benchmark must have it.
func exported(name string) string {
	r := []rune(name)
	r[0] = unicode.ToUpper(r[0])
	return string(r)
}

// cpuModel is the processor's name where the kernel tells.
func cpuModel() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}
