// Command examples builds the example backends of every language and uses them as a client would.
//
// Each folder of examples/ is built and started by the two commands of its README, one edge is put in
// front of all of them, each under a prefix of its own, and the official Go SDK goes through all they
// serve in one session of each era. Beside that each is checked by `mcpedge check`, asked whether it
// continues a trace, its long tool is driven as a task before two edges on one Redis, of which one is killed, and the page of docs/backends on its language is done word by word, as is that of
// examples/reflect/desk, on services that check their callers. Every step that succeeds counts as passed; an example's first failure ends its
// steps in that era. The exit status is 0 when nothing failed. "<passed> <failed>" is written to the file
// that -counts, or else EXAMPLES_COUNTS in the environment, names.
//
//	go run ./tests/programs/examples -only python,rust
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// The folders of the examples and of what a run leaves behind, seen from the module root.
const (
	folder  = "examples"
	results = "tests/programs/examples/results"
)

// reflected names the example of services that are no backends by themselves.
const reflected = "reflect"

var eras = []string{"2025-11-25", "2026-07-28"}

func init() {
	// Children are bound to the thread that starts them (see bindToParent): keep it alive.
	runtime.LockOSThread()
}

func main() {
	only := flag.String("only", "", "examples to run, separated by commas; empty: all")
	limit := flag.Duration("limit", 20*time.Minute, "time limit of the whole run")
	counts := flag.String("counts", os.Getenv("EXAMPLES_COUNTS"), "file to write the passed and failed counts to")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(ctx, *limit)
	err := run(ctx, strings.FieldsFunc(*only, func(r rune) bool { return r == ',' }), *counts)
	cancel()
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "examples: %v\n", err)
		os.Exit(1)
	}
}

// run does one whole pass. Every process it started has ended when it returns.
func run(ctx context.Context, only []string, counts string) (err error) {
	all, err := discover(only)
	if err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(results), os.MkdirAll(results, 0o755)); err != nil {
		return err
	}
	start := time.Now()
	r := &report{}
	w := &world{examples: all}
	defer func() { err = errors.Join(err, w.stop()) }()
	if err := w.start(ctx, r); err != nil {
		return errors.Join(err, r.write(counts, time.Since(start)))
	}
	for _, e := range w.examples {
		r.step(e.name, "check", func() error { return w.check(ctx, e) })
		r.step(e.name, "trace", func() error { return traced(ctx, e) })
		r.step(e.name, "page", func() error { return w.firstTool(ctx, e.name) })
		r.step(e.name, "page, the rest", func() error { return w.rest(ctx, e.name) })
	}
	if len(w.examples) > 0 {
		for _, era := range eras {
			visit(ctx, r, w, era)
		}
		w.tasksOf(ctx, r)
	}
	if len(only) == 0 || slices.Contains(only, reflected) {
		r.step(reflected, "page", func() error { return w.callers(ctx) })
	}
	return r.write(counts, time.Since(start))
}

// discover finds the examples to run: the folders with a README.
func discover(only []string) ([]*example, error) {
	readmes, err := filepath.Glob(filepath.Join(folder, "*", "README.md"))
	if err != nil || len(readmes) == 0 {
		return nil, fmt.Errorf("no %s/*/README.md (run this from the root of the repository): %v", folder, err)
	}
	wanted := map[string]bool{}
	for _, name := range only {
		wanted[name] = true
	}
	var all []*example
	for _, path := range readmes {
		e := &example{name: filepath.Base(filepath.Dir(path)), dir: filepath.Dir(path)}
		if len(only) > 0 && !wanted[e.name] {
			continue
		}
		delete(wanted, e.name)
		if err := e.read(path); err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	delete(wanted, reflected)
	for name := range wanted {
		return nil, fmt.Errorf("%q is no folder of %s with a README", name, folder)
	}
	return all, nil
}
