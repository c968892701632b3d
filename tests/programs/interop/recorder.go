package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"
)

// said is what a client said of itself and did, see client.
type said struct {
	uses   string   // library and version
	speaks []string // revisions, in the order in which they were said
	lacks  []string // "<feature>: <why>"
	notes  []string // what else to know
	steps  []string // passed
}

// recorder takes a client's output: it keeps it, notes what it says and times the steps. It is for one
// writer at a time.
type recorder struct {
	log     io.Writer
	verbose bool // print every line

	line []byte // what came of the current one
	last time.Time
	said
	slowest step
}

// step is a step that was passed and how long after the one before.
type step struct {
	name string
	took time.Duration
}

// newRecorder starts the clock of the first step.
func newRecorder(log io.Writer, verbose bool) *recorder {
	return &recorder{log: log, verbose: verbose, last: time.Now()}
}

func (r *recorder) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			r.line = append(r.line, rest...)
			break
		}
		r.end(append(r.line, rest[:i]...))
		r.line, rest = r.line[:0], rest[i+1:]
	}
	return r.log.Write(p)
}

// end takes one whole line.
func (r *recorder) end(line []byte) {
	if r.verbose {
		fmt.Printf("%s\n", line)
	}
	word, rest, _ := strings.Cut(string(bytes.TrimSpace(line)), " ")
	switch word {
	case "uses":
		r.uses = rest
	case "speaks":
		r.speaks = append(r.speaks, rest)
	case "lacks":
		r.lacks = append(r.lacks, rest)
	case "notes":
		r.notes = append(r.notes, rest)
	case "ok":
		r.passed(rest)
	}
}

func (r *recorder) passed(name string) {
	now := time.Now()
	if took := now.Sub(r.last); took > r.slowest.took {
		r.slowest = step{name, took}
	}
	r.steps = append(r.steps, name)
	r.last = now
}
