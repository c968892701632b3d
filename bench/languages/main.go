// Command languages shows what a trivial tool costs in each language: it has the edge call the fixture of each capability library, and calls
// the same tool of an official SDK's server directly. It prints calls per second, with their interval over the rounds, and the resident
// memory of the process that has the tool.
//
//	go run ./bench/languages -languages go,python -rounds 3 -slice 2s
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/bench/internal/load"
	"github.com/mcpedge/mcpedge/bench/internal/stats"
)

// warming is how many rounds are not counted: a Java server compiles itself for the first 12 s of its load.
const warming = 6

// options is what the command line decides.
type options struct {
	languages   []string // empty: all that there are
	connections int
	rounds      int
	slice       time.Duration // how long each subject is called in each round
}

func init() {
	// Children are bound to the thread that starts them (see process.Bind): keep it alive.
	runtime.LockOSThread()
}

func main() {
	var o options
	var languages string
	flag.StringVar(&languages, "languages", "", "which ones, separated by commas; empty: go and those of sdk/")
	flag.IntVar(&o.connections, "connections", 16, "clients at the same time")
	flag.IntVar(&o.rounds, "rounds", 10, "rounds, in each of which every subject is called for a slice; others come before them and are not counted")
	flag.DurationVar(&o.slice, "slice", 3*time.Second, "length of a slice")
	flag.Parse()
	o.languages = strings.FieldsFunc(languages, func(r rune) bool { return r == ',' })
	if o.connections < 1 || o.rounds < 2 || o.slice <= 0 {
		fmt.Fprintln(os.Stderr, "languages: -connections must be at least 1, -rounds at least 2, and -slice more than 0")
		os.Exit(2)
	}
	if err := run(context.Background(), o); err != nil {
		fmt.Fprintf(os.Stderr, "languages: %v\n", err)
		os.Exit(1)
	}
}

// run measures. What it started has ended when it returns.
func run(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp("", "mcpedge-languages-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s := &stage{dir: dir}
	defer func() { err = errors.Join(err, s.stop()) }()
	if len(o.languages) == 0 {
		if o.languages, err = known(); err != nil {
			return err
		}
	}
	subjects, err := s.start(ctx, o.languages)
	if err != nil {
		return err
	}
	rates := map[string][]float64{}
	for round := range warming + o.rounds {
		for _, one := range subjects {
			r, err := load.Run(one.addr, []load.Call{one.call}, o.connections, o.slice)
			if err != nil {
				return fmt.Errorf("%s: %w", one.name, err)
			}
			if round >= warming {
				rates[one.name] = append(rates[one.name], r.PerSecond())
			}
		}
	}
	fmt.Printf("%-24s %28s %16s\n", "", "calls per second", "resident, MiB")
	for _, one := range subjects {
		resident, err := residentMiB(one.pid)
		if err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
		fmt.Printf("%-24s %28s %16.1f\n", one.name, stats.Of(rates[one.name]), resident)
	}
	return nil
}

// known are the languages of the repository: Go, and those of the folders of sdk/.
func known() ([]string, error) {
	found, err := filepath.Glob("sdk/*/fixture/run")
	if err != nil {
		return nil, err
	}
	out := []string{"go"}
	for _, run := range found {
		out = append(out, filepath.Base(filepath.Dir(filepath.Dir(run))))
	}
	slices.Sort(out[1:])
	return out, nil
}
