package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
)

const (
	// mostFailures is the maximum number of lines about failures that are repeated for a stage.
	mostFailures = 40
	// lastLines is the number of last lines that are repeated for a failed stage.
	lastLines = 30
)

// failure matches the lines of a stage's output that name a failure.
var failure = regexp.MustCompile(`^\s*(--- FAIL: |FAIL\b|FAILED\b|not ok\b|panic: |fatal error: |WARNING: DATA RACE|make: \*\*\*|error(\[\w+\])?: |\[ERROR\] )`)

// plan prints the stages that will run and their dependencies.
func plan(out io.Writer, chosen []stage, cores float64) {
	_, _ = fmt.Fprintf(out, "%d stages on %g cores:\n", len(chosen), cores)
	run := map[string]bool{}
	for _, s := range chosen {
		run[s.name] = true
	}
	for _, s := range chosen {
		var after []string
		for _, name := range s.awaits() {
			if run[name] {
				after = append(after, name)
			}
		}
		waits := ""
		if len(after) > 0 {
			waits = ", after " + strings.Join(after, " and ")
		}
		_, _ = fmt.Fprintf(out, "  %-22s %3g cores, at most %v%s\n", s.name, s.cores, s.within, waits)
	}
	_, _ = fmt.Fprintln(out)
}

// conclude prints the failures again, the table, and last the sum. failed reports whether a stage
// failed.
func conclude(out io.Writer, results []result) (failed bool) {
	var passed, failures int
	var took, used time.Duration
	for _, r := range results {
		passed, failures, took, used = passed+r.passed, failures+r.failed, took+r.took, used+r.used
		if r.failed > 0 {
			repeat(out, r)
		}
	}
	for _, r := range results {
		_, _ = fmt.Fprintln(out, r)
	}
	_, _ = fmt.Fprintf(out, "the stages took %d s together, and %d s of CPU\n%d passed, %d failed\n", seconds(took), seconds(used), passed, failures)
	return failures > 0
}

// repeat prints the lines of a failed stage that name a failure, and its last lines.
func repeat(out io.Writer, r result) {
	_, _ = fmt.Fprintf(out, "=== failed: %s\n", r)
	lines := strings.Split(strings.TrimSuffix(r.output, "\n"), "\n")
	named := 0
	for _, line := range lines {
		if !failure.MatchString(line) {
			continue
		}
		if named++; named <= mostFailures {
			_, _ = fmt.Fprintln(out, line)
		}
	}
	if named > mostFailures {
		_, _ = fmt.Fprintf(out, "and %d lines more like these\n", named-mostFailures)
	}
	_, _ = fmt.Fprintln(out, "--- its last lines:")
	for _, line := range lines[max(0, len(lines)-lastLines):] {
		_, _ = fmt.Fprintln(out, line)
	}
	_, _ = fmt.Fprintln(out)
}
