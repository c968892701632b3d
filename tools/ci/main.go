// Command ci runs the stages of CI: what is independent at once, within the cores there are, each within its time bound, and all of them
// even when one fails. The stages are in stages.go. It is run at the root of the repository, without standard input.
//
//	bin/ci                      # what decides whether a change lands
//	bin/ci -set nightly         # everything else
//	bin/ci -only 'chart,sdk-*'  # these stages, of any set
//	bin/ci -list                # what there is, what waits for what
//
// It prints when a stage starts and what waits for what, a stage's whole output when the stage has ended, what failed once more, a table with
// the counts and seconds of each stage, and last "<passed> passed, <failed> failed". The exit status is 0 only when every stage succeeded. A
// stage fails when its command does, when it counted nothing, and when it crosses its bound, upon which it is ended with all its processes.
//
// A stage's command writes "<passed> <failed>" to the file that GOTEST_COUNTS in its environment names, or the variable that stage.counts
// names instead.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

func main() {
	set := flag.String("set", landing, "stages to run: "+landing+" or "+nightly)
	only := flag.String("only", "", "names of the stages to run, of any set, separated by commas; * stands for any letters")
	cores := flag.Float64("cores", float64(runtime.NumCPU()), "processor cores to keep busy at a time")
	list := flag.Bool("list", false, "list the stages and run none")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	failed, err := run(ctx, *set, *only, *cores, *list)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "ci:", err)
		os.Exit(2)
	}
	if failed {
		os.Exit(1)
	}
}

// run runs the chosen stages and prints about them. failed: a stage did. An error means that none was run.
func run(ctx context.Context, set, only string, cores float64, list bool) (failed bool, err error) {
	if err := check(stages); err != nil {
		return false, err
	}
	chosen, err := choose(stages, set, only)
	if err != nil {
		return false, err
	}
	if cores <= 0 {
		return false, fmt.Errorf("-cores %v: must be above 0", cores)
	}
	plan(os.Stdout, chosen, cores)
	if list {
		return false, nil
	}
	dir, err := os.MkdirTemp("", "ci")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	s := &schedule{cores: cores, out: os.Stdout, run: func(ctx context.Context, s stage) result { return execute(ctx, s, dir) }}
	return conclude(os.Stdout, s.all(ctx, chosen)), nil
}
