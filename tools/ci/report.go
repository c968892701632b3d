package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
)

const (
	// mostFailures bounds how many lines that tell of failures are repeated of a stage.
	mostFailures = 40
	// lastLines is how many of a failed stage's last lines are repeated.
	lastLines = 30
)

// failure finds the lines of a stage's output that name what failed.
var failure = regexp.MustCompile(`^\s*(--- FAIL: |FAIL\b|FAILED\b|not ok\b|panic: |fatal error: |WARNING: DATA RACE|make: \*\*\*|error(\[\w+\])?: |\[ERROR\] )`)

// plan prints what will be run and what waits for what.
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

// conclude prints what failed once more, the table, and last the sum. failed: a stage did.
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

// repeat prints of a failed stage the lines that name what failed, and its last ones.
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
