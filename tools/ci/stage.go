package main

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// The sets of stages.
const (
	landing = "landing"
	nightly = "nightly"
)

// stage is a part of CI that counts what it tests.
type stage struct {
	name string
	// sets has the sets that the stage belongs to; none: it is run by -only alone.
	sets []string
	// run is what bash runs at the root of the repository, with -euo pipefail.
	run string
	// counts is the environment variable that names the file for the counts; empty: GOTEST_COUNTS.
	counts string
	// needs and after have the names of stages before it in the table whose end it awaits, be they passed or failed. It uses what those of needs
	// build, so that they are run wherever it is; those of after are only in its way.
	needs, after []string
	// cores is how many cores it keeps busy, on average; more than there are: all of them.
	cores float64
	// within bounds its time, on a machine whose caches are empty.
	within time.Duration
}

// awaits has the names of the stages whose end it awaits, if they are run.
func (s stage) awaits() []string { return slices.Concat(s.needs, s.after) }

// check returns what is wrong with a table of stages.
func check(all []stage) error {
	var errs []error
	known := map[string]bool{}
	for _, s := range all {
		switch {
		case s.name == "" || known[s.name]:
			errs = append(errs, fmt.Errorf("two stages have the name %q, or it is empty", s.name))
		case s.run == "" || s.cores <= 0 || s.within <= 0:
			errs = append(errs, fmt.Errorf("stage %s lacks a command, its cores or its time bound", s.name))
		}
		for _, name := range s.awaits() {
			if !known[name] {
				errs = append(errs, fmt.Errorf("stage %s awaits %q, which is no stage before it", s.name, name))
			}
		}
		for _, set := range s.sets {
			if set != landing && set != nightly {
				errs = append(errs, fmt.Errorf("stage %s is of the set %q, which is unknown", s.name, set))
			}
		}
		known[s.name] = true
	}
	return errors.Join(errs...)
}

// choose returns the stages of a set, or those that only names, if it names any, with what they need, in the order of the table.
func choose(all []stage, set, only string) ([]stage, error) {
	if only == "" {
		chosen := slices.DeleteFunc(slices.Clone(all), func(s stage) bool { return !slices.Contains(s.sets, set) })
		if len(chosen) == 0 {
			return nil, fmt.Errorf("no stage is of the set %q: there are %s and %s", set, landing, nightly)
		}
		return chosen, nil
	}
	wanted := map[string]bool{}
	for pattern := range strings.SplitSeq(only, ",") {
		n := 0
		for _, s := range all {
			ok, err := path.Match(pattern, s.name)
			if err != nil {
				return nil, fmt.Errorf("-only %q: %w", pattern, err)
			}
			if ok {
				wanted[s.name] = true
				n++
			}
		}
		if n == 0 {
			return nil, fmt.Errorf("no stage is named %q; ci -list -only '*' lists them", pattern)
		}
	}
	for _, s := range slices.Backward(all) { // what a stage needs is before it
		if wanted[s.name] {
			for _, name := range s.needs {
				wanted[name] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(s stage) bool { return !wanted[s.name] }), nil
}
