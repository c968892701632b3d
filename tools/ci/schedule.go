package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// schedule runs each stage as soon as its dependencies have ended and enough cores are free. Among
// several such stages the first in the table starts.
type schedule struct {
	// cores is the number of cores that running stages may use together.
	cores float64
	out   io.Writer
	// run runs one stage to its end. It is called concurrently.
	run func(context.Context, stage) result

	begun   time.Time
	waiting []stage
	running []stage
	ended   []result
}

// all runs the stages and returns their results in the order of chosen. Once ctx is done, no
// further stage is started; run ends those that are running.
func (s *schedule) all(ctx context.Context, chosen []stage) []result {
	s.begun = time.Now()
	s.waiting = slices.Clone(chosen)
	ends := make(chan result)
	for {
		for ctx.Err() == nil && s.next(ctx, ends) {
		}
		if len(s.running) == 0 {
			break
		}
		r := <-ends
		s.running = slices.DeleteFunc(s.running, func(o stage) bool { return o.name == r.stage.name })
		s.ended = append(s.ended, r)
		s.show(r)
	}
	for _, left := range s.waiting { // the run was ended from outside
		s.ended = append(s.ended, result{stage: left, failed: 1, why: "it was not started"})
	}
	place := func(r result) int {
		return slices.IndexFunc(chosen, func(o stage) bool { return o.name == r.stage.name })
	}
	slices.SortFunc(s.ended, func(a, b result) int { return place(a) - place(b) })
	return s.ended
}

// next starts a stage that can start, and reports whether there was one.
func (s *schedule) next(ctx context.Context, ends chan<- result) bool {
	for i, st := range s.waiting {
		if len(s.awaited(st)) > 0 || !s.fits(st) {
			continue
		}
		s.waiting = slices.Delete(s.waiting, i, i+1)
		s.running = append(s.running, st)
		s.say("starts %s; %s", st.name, s.waits())
		go func() { ends <- s.run(ctx, st) }()
		return true
	}
	return false
}

// awaited returns the names of the stages that a stage still waits for.
func (s *schedule) awaited(st stage) []string {
	var names []string
	for _, o := range slices.Concat(s.running, s.waiting) {
		if slices.Contains(st.awaits(), o.name) {
			names = append(names, o.name)
		}
	}
	return names
}

// fits reports whether enough cores are free for a stage. It is true if no other stage is running.
func (s *schedule) fits(st stage) bool {
	const rounding = 1e-9
	used := 0.0
	for _, o := range s.running {
		used += min(o.cores, s.cores)
	}
	return used+min(st.cores, s.cores) <= s.cores+rounding
}

// waits returns a line that says which stages wait for what.
func (s *schedule) waits() string {
	var cores, named []string
	for _, st := range s.waiting {
		if names := s.awaited(st); len(names) > 0 {
			named = append(named, st.name+" for "+strings.Join(names, " and "))
		} else {
			cores = append(cores, st.name)
		}
	}
	if len(cores) > 0 {
		named = append(named, strings.Join(cores, ", ")+" for cores")
	}
	if len(named) == 0 {
		return "nothing waits"
	}
	return "waiting: " + strings.Join(named, "; ")
}

// show prints the result and the output of a stage.
func (s *schedule) show(r result) {
	s.say("ended %s; its output:", r)
	_, _ = fmt.Fprintf(s.out, "%s=== end of the output of %s\n\n", ensureLine(r.output), r.stage.name)
}

func (s *schedule) say(format string, args ...any) {
	at := time.Since(s.begun).Round(time.Second)
	_, _ = fmt.Fprintf(s.out, "=== %02d:%02d "+format+"\n", append([]any{int(at.Minutes()), int(at.Seconds()) % 60}, args...)...)
}

// ensureLine appends a newline to text unless it is empty or ends with one.
func ensureLine(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}
