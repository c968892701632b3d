// Command bench is the one measure of the edge's speed. Each case starts what it compares, each a process
// of its own: edges, the gRPC service behind them, the bare bridge (see bench/bridge), servers of the
// official Go SDK (see bench/sdk); and puts the same work to all of them in interleaved rounds. What it
// reports first are ratios from within the run, with 95 % intervals: absolute figures depend on the
// machine. The edge runs with its default settings; the log it writes goes to /dev/null.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// settings are the command line's.
type settings struct {
	rounds                    int
	slice                     time.Duration
	only                      *regexp.Regexp
	json, benchfmt, profileTo string
	against                   programs
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("bench: ")
	var s settings
	flag.IntVar(&s.rounds, "rounds", 0, "interleaved rounds of each case, at least 2; 0: its own, 30 where there is a bound to show")
	flag.DurationVar(&s.slice, "slice", 0, "length of one measurement; 0: the case's own, mostly 400ms")
	flag.StringVar(&s.json, "json", "", "write the results to this `file`")
	flag.StringVar(&s.benchfmt, "benchfmt", "", "write the rounds to this `file` as Go benchmarks, for benchstat")
	flag.StringVar(&s.profileTo, "profile", "", "write CPU profiles to this `directory`, taken in extra rounds")
	flag.Var(&s.against, "against", "compare plain calls with those of another edge's program, as `NAME=PATH`; may be repeated")
	only := flag.String("case", "", "run only the cases whose names match this `regexp`")
	flag.Parse()
	var err error
	if s.only, err = regexp.Compile(*only); err != nil {
		log.Fatalf("-case: %v", err)
	}
	if s.rounds != 0 && s.rounds < 2 {
		log.Fatalf("-rounds %d: an interval takes at least 2", s.rounds)
	}
	if err := s.run(); err != nil {
		log.Fatal(err)
	}
}

func (s settings) run() error {
	cases := slices.DeleteFunc(allCases(s.against), func(c benchCase) bool { return !s.only.MatchString(c.name) })
	if len(cases) == 0 {
		var names []string
		for _, c := range allCases(s.against) {
			names = append(names, c.name)
		}
		return fmt.Errorf("-case %s matches none of these: %s", s.only, strings.Join(names, " "))
	}
	if err := raiseFiles(); err != nil {
		return err
	}
	if s.profileTo != "" {
		if err := os.MkdirAll(s.profileTo, 0o755); err != nil {
			return err
		}
	}
	f, err := newFleet()
	if err != nil {
		return err
	}
	defer f.close()
	stopped := make(chan os.Signal, 1)
	signal.Notify(stopped, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-stopped
		f.close()
		os.Exit(1)
	}()
	if err := f.buildAll(); err != nil {
		return err
	}
	var (
		reports  []report
		failures []error
	)
	for _, c := range cases {
		begun := time.Now()
		r, err := s.runCase(f, c)
		f.stop()
		if errors.Is(err, errClosed) {
			return err
		}
		if err != nil { // the other cases have nothing to do with it
			failures = append(failures, fmt.Errorf("%s: %w", c.name, err))
			log.Print(failures[len(failures)-1])
			continue
		}
		r.print(os.Stdout, time.Since(begun))
		reports = append(reports, r)
	}
	printVerdicts(os.Stdout, reports)
	return errors.Join(append(failures, s.write(reports))...)
}

func (s settings) runCase(f *fleet, c benchCase) (report, error) {
	subjects, err := c.start(f)
	if err != nil {
		return report{}, err
	}
	rounds := c.rounds
	if s.rounds > 0 {
		rounds = s.rounds
	}
	slice := cmp.Or(s.slice, c.slice, usual)
	found, calls, err := measure(subjects, rounds, slice, c.cold)
	if err != nil {
		return report{}, err
	}
	if s.profileTo != "" {
		if err := profile(s.profileTo, c.name, subjects, slice); err != nil {
			return report{}, err
		}
	}
	return newReport(c.name, subjects, c.claims, found, calls)
}

// write writes the files that were asked for.
func (s settings) write(reports []report) error {
	if s.json != "" {
		data, err := json.MarshalIndent(reports, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(s.json, append(data, '\n'), 0o644); err != nil {
			return err
		}
	}
	if s.benchfmt == "" {
		return nil
	}
	w, err := os.Create(s.benchfmt)
	if err != nil {
		return err
	}
	if err := writeBenchmarks(w, reports, cmp.Or(s.slice, usual)); err != nil {
		_ = w.Close()
		return err
	}
	return w.Close()
}

// allCases in the order in which they run.
func allCases(others programs) []benchCase {
	return slices.Concat(againstCases(others), callCases(), listCases(), eventCases(), sessionCases(), startCases(), telemetryCases(), accessCases(), catalogCases(), askCases())
}
