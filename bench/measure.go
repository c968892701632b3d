package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"
)

// series is what the rounds of a case found: by subject and metric, one value for each round.
type series map[string]map[metric][]float64

// measure runs the rounds and, unless it is to start cold, as many before them for warming up as a subject
// has processes. In each, the subjects come in another order, so that none always follows the same one. It
// also returns the calls of each subject's rounds, at least 1.
func measure(subjects []subject, rounds int, slice time.Duration, cold bool) (series, map[string][]int, error) {
	found, calls := series{}, map[string][]int{}
	first, attempts := 0, 1
	if !cold {
		attempts = quietAttempts
		for _, s := range subjects {
			first = min(first, -max(1, len(s.turns)))
		}
	}
	for round := first; round < rounds; round++ {
		for _, k := range rand.Perm(len(subjects)) {
			s := subjects[k]
			one, err := s.turn(round-first).quiet(slice, attempts)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", s.name, err)
			}
			if round < 0 {
				continue
			}
			if found[s.name] == nil {
				found[s.name] = map[metric][]float64{}
			}
			for m, v := range one.values {
				found[s.name][m] = append(found[s.name][m], v)
			}
			calls[s.name] = append(calls[s.name], max(1, one.calls))
		}
	}
	return found, calls, nil
}

// quietAttempts is how often a measurement is taken, at most, until one is not disturbed by what the
// machine's host does for others; the last one counts in any case.
const quietAttempts = 4

// quiet is a measurement during which hardly any of the machine's time was stolen.
func (s subject) quiet(slice time.Duration, attempts int) (sample, error) {
	for {
		before, begun := stolen(), time.Now()
		one, err := s.measured(slice)
		attempts--
		if err != nil || attempts <= 0 || !disturbed(stolen()-before, time.Since(begun)*time.Duration(runtime.NumCPU())) {
			return one, err
		}
	}
}

// disturbed says whether more than 2 % of the processors' time was stolen. Of less than a few ticks nothing
// can be said.
func disturbed(stolen, of time.Duration) bool { return of > 5*ticks && 50*stolen > of }

// measured is one round, and what it used of the machine. Allocations are counted in rounds that are not
// brief: counting them takes some tens of milliseconds.
func (s subject) measured(slice time.Duration) (sample, error) {
	if s.proc == nil {
		return s.round(slice)
	}
	counted := s.proc.admin != "" && slice > brief
	// The CPU time in between is the round's alone.
	var mallocs, mallocsAfter uint64
	var err error
	if counted {
		if mallocs, err = s.proc.mallocs(); err != nil {
			return sample{}, err
		}
	}
	before, err := s.proc.cpu()
	if err != nil {
		return sample{}, err
	}
	one, err := s.round(slice)
	if err != nil || one.calls == 0 {
		return one, err
	}
	after, err := s.proc.cpu()
	if err != nil {
		return sample{}, err
	}
	one.values[cpuTime] = float64((after - before).Nanoseconds()) / 1e3 / float64(one.calls)
	if counted {
		if mallocsAfter, err = s.proc.mallocs(); err != nil {
			return sample{}, err
		}
		one.values[allocs] = float64(mallocsAfter-mallocs) / float64(one.calls)
	}
	return one, nil
}
