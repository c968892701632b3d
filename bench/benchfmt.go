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
)

// writeBenchmarks writes the rounds in the format of Go benchmarks: for each round and subject a line, as
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
			for round, calls := range r.calls[s.Name] {
				fmt.Fprintf(b, "Benchmark%s/%s %d%s\n", exported(r.Case), s.Name, calls, r.values(s, round))
			}
		}
	}
	return b.Flush()
}

// values are the figures of a round of a subject, each before its unit.
func (r report) values(s subjectReport, round int) string {
	var b strings.Builder
	for _, m := range metrics {
		if v := s.Rounds[m.metric]; len(v) > round {
			fmt.Fprintf(&b, " %.6g %s", m.value(v[round]), m.unit)
		}
	}
	for _, f := range r.Claims {
		if f.Of == s.Name && f.Over != "" && !f.Minus {
			fmt.Fprintf(&b, " %.6g %s-over-%s", f.rounds[round], f.Metric, f.Over)
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
