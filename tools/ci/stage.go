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

// stage is a part of CI that counts its tests.
type stage struct {
	name string
	// sets are the sets of the stage. With none, it is run by -only alone.
	sets []string
	// run is a script for bash, which runs in the root of the repository with -euo pipefail.
	run string
	// counts is the environment variable that names the file for the counts. Empty means
	// GOTEST_COUNTS.
	counts string
	// needs and after are names of earlier stages in the table. The stage starts after their end,
	// whether they passed or failed. It uses what the stages of needs build, so choosing it chooses
	// them, too; stages of after are awaited only if they run.
	needs, after []string
	// cores is the average number of cores that the stage uses. It is limited to the available
	// ones.
	cores float64
	// within is the time bound of the stage, on a machine whose caches are empty.
	within time.Duration
}

// awaits returns the names of the stages whose end the stage awaits, if they run.
func (s stage) awaits() []string { return slices.Concat(s.needs, s.after) }

// check returns an error if a table of stages is invalid.
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

// choose returns the stages of a set or, if only is not empty, the stages that match it, with those
// that they need, in the order of the table.
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
