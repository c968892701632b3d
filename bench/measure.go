package main

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// series is what the rounds of a case found: by subject and metric, one value for each round.
type series map[string]map[metric][]float64

// measure runs the rounds and, unless it is to start cold, one before them for warming up. In each, the
// subjects come in another order, so that none always follows the same one. It also returns the calls of
// each subject's rounds, at least 1.
func measure(subjects []subject, rounds int, slice time.Duration, cold bool) (series, map[string][]int, error) {
	found, calls := series{}, map[string][]int{}
	first := -1
	if cold {
		first = 0
	}
	for round := first; round < rounds; round++ {
		for _, k := range rand.Perm(len(subjects)) {
			s := subjects[k]
			one, err := s.measured(slice)
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

// measured is one round, and what it used of the machine.
func (s subject) measured(slice time.Duration) (sample, error) {
	if s.proc == nil {
		return s.round(slice)
	}
	// The CPU time in between is the round's alone: telling allocations takes some.
	mallocs, err := s.proc.mallocs()
	if err != nil {
		return sample{}, err
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
	mallocsAfter, err := s.proc.mallocs()
	if err != nil {
		return sample{}, err
	}
	one.values[cpuTime] = float64((after - before).Nanoseconds()) / 1e3 / float64(one.calls)
	if s.proc.admin != "" {
		one.values[allocs] = float64(mallocsAfter-mallocs) / float64(one.calls)
	}
	return one, nil
}
