// Command ci runs the stages of CI, which are defined in stages.go. Independent stages run
// concurrently within the available cores, each within its time bound, and a failed stage does not
// stop the others. Run it in the root of the repository, without standard input.
//
//	bin/ci                      # the stages that decide whether a change lands
//	bin/ci -set nightly         # all other stages
//	bin/ci -only 'chart,sdk-*'  # these stages, of any set
//	bin/ci -list                # the stages and their dependencies
//
// It prints the start of each stage and what waits for what, the output of each stage when it has
// ended, the failures again, a table with the counts and seconds of each stage, and last "<passed>
// passed, <failed> failed". The exit status is 0 only if every stage succeeded. A stage fails if
// its command fails, if it counts nothing, or if it exceeds its time bound; its processes are then
// killed.
//
// The command of a stage writes "<passed> <failed>" to the file that the environment variable
// GOTEST_COUNTS names, or the variable that stage.counts names.
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

// run runs the chosen stages and prints their results. failed reports whether a stage failed. An
// error means that no stage was run.
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
