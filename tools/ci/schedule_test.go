package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// simulated runs stages of given durations in simulated time, and returns the start of each and the
// results.
func simulated(ctx context.Context, cores float64, stages []stage, takes map[string]time.Duration, out io.Writer) (map[string]time.Duration, []result) {
	begun := time.Now()
	started := map[string]time.Duration{}
	starts := make(chan struct{}, 1)
	s := &schedule{cores: cores, out: out, run: func(ctx context.Context, s stage) result {
		starts <- struct{}{}
		started[s.name] = time.Since(begun)
		<-starts
		select {
		case <-time.After(takes[s.name]):
			return result{stage: s, passed: 1, output: "the output of " + s.name}
		case <-ctx.Done():
			return result{stage: s, failed: 1, why: "ended"}
		}
	}}
	results := s.all(ctx, stages)
	return started, results
}

// TestIndependentStagesRunAtOnce: stages run within the cores, in the order of the table, and a
// stage that fits overtakes one that does not fit yet.
func TestIndependentStagesRunAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stages := []stage{
			{name: "build", cores: 4}, // more than there are
			{name: "long", cores: 1.5, after: []string{"build"}},
			{name: "broad", cores: 2, needs: []string{"build"}},
			{name: "small", cores: 0.5, needs: []string{"build"}},
			{name: "last", cores: 0.5, after: []string{"small", "not run"}},
		}
		var out strings.Builder
		started, results := simulated(t.Context(), 2, stages, map[string]time.Duration{
			"build": 10 * time.Second, "long": 30 * time.Second, "broad": 5 * time.Second, "small": 7 * time.Second, "last": time.Second,
		}, &out)
		for name, want := range map[string]time.Duration{"build": 0, "long": 10 * time.Second, "small": 10 * time.Second, "last": 17 * time.Second, "broad": 40 * time.Second} {
			if started[name] != want {
				t.Errorf("%s started at %v, want %v", name, started[name], want)
			}
		}
		if names := namesOf(results); names != "build long broad small last" {
			t.Errorf("results of %s", names)
		}
		for _, want := range []string{
			"=== 00:00 starts build; waiting: long for build; broad for build; small for build; last for small\n",
			"=== 00:10 starts small; waiting: last for small; broad for cores\n", "=== 00:40 starts broad; nothing waits\n",
			"the output of small\n=== end of the output of small\n",
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("not printed: %q in\n%s", want, out.String())
			}
		}
	})
}

// TestAFailureStopsNothing: stages after a failed one are run.
func TestAFailureStopsNothing(t *testing.T) {
	var ran []string
	s := &schedule{cores: 1, out: io.Discard, run: func(_ context.Context, s stage) result {
		ran = append(ran, s.name)
		return result{stage: s, failed: 1}
	}}
	s.all(t.Context(), []stage{{name: "a", cores: 1}, {name: "b", cores: 1, needs: []string{"a"}}, {name: "c", cores: 1, after: []string{"b"}}})
	if !slices.Equal(ran, []string{"a", "b", "c"}) {
		t.Errorf("ran %v", ran)
	}
}

// TestEndedFromOutside: running stages are ended, and stages that have not started fail.
func TestEndedFromOutside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, results := simulated(ctx, 1, []stage{{name: "a", cores: 1}, {name: "b", cores: 1}}, map[string]time.Duration{"a": time.Hour, "b": time.Hour}, io.Discard)
		if len(results) != 2 || results[0].why != "ended" || results[1].why != "it was not started" || results[1].failed != 1 {
			t.Errorf("%v", results)
		}
	})
}

func namesOf(results []result) string {
	var stages []stage
	for _, r := range results {
		stages = append(stages, r.stage)
	}
	return named(stages)
}
