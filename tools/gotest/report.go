package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// event is one line of "go test -json"; see "go doc test2json".
type event struct {
	Action     string
	Package    string
	ImportPath string
	Test       string
	Output     string
}

// report turns the events of a run into output and counts.
type report struct {
	out                     io.Writer
	passed, failed, skipped int
	// leftOut is the number of skipped tests whose reason begins with leftOutMark.
	leftOut int
	output  map[string]map[string][]string // package → test ("" is the package) → lines
	broken  map[string]int                 // package → its failed tests
}

func newReport(out io.Writer) *report {
	return &report{out: out, output: map[string]map[string][]string{}, broken: map[string]int{}}
}

// read consumes events up to the end of in. Lines that are no events are printed unchanged.
func (r *report) read(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) == nil && e.Action != "" {
				r.handle(e)
			} else {
				fmt.Fprintf(r.out, "%s", line)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the output of go test: %w", err)
		}
	}
}

func (r *report) handle(e event) {
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "output":
		tests := r.output[e.Package]
		if tests == nil {
			tests = map[string][]string{}
			r.output[e.Package] = tests
		}
		tests[e.Test] = append(tests[e.Test], e.Output)
	case "pass", "skip", "fail":
		if e.Test == "" {
			r.closePackage(e)
		} else {
			r.closeTest(e)
		}
	}
}

// leftOutMark begins the reason of a skipped test that needs something that the machine lacks.
const leftOutMark = "left out: "

// closeTest counts a test and prints the output of a failed one.
func (r *report) closeTest(e event) {
	switch e.Action {
	case "pass":
		r.passed++
	case "skip":
		r.skipped++
		if slices.ContainsFunc(r.output[e.Package][e.Test], func(line string) bool { return strings.Contains(line, leftOutMark) }) {
			r.leftOut++
		}
	case "fail":
		r.failed++
		r.broken[e.Package]++
		r.print(r.output[e.Package][e.Test])
	}
	delete(r.output[e.Package], e.Test)
}

// closePackage prints the last line of a package, or the rest of its output if it failed.
func (r *report) closePackage(e event) {
	left := r.output[e.Package]
	if e.Action == "fail" {
		if r.broken[e.Package] == 0 {
			r.failed++
		}
		for name, lines := range left {
			if name != "" { // cut short by a crash or the time limit
				r.print(lines)
			}
		}
		r.print(left[""])
	} else {
		for _, line := range left[""] {
			if strings.HasPrefix(line, "ok ") || strings.HasPrefix(line, "ok\t") {
				fmt.Fprint(r.out, line)
			}
		}
	}
	delete(r.output, e.Package)
}

// print prints lines, without those that mark the start and pause of a test.
func (r *report) print(lines []string) {
	for _, line := range lines {
		if !strings.HasPrefix(line, "=== ") {
			fmt.Fprint(r.out, line)
		}
	}
}
