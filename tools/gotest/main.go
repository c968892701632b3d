// Command gotest runs "go test -json" with its arguments and prints a summary: the last line of
// every package, the whole output of failures and, last, the numbers of passed and failed tests.
// Subtests count as tests. A package that fails without a failed test (it does not build, crashes
// or times out) counts as one failure. The exit status is that of "go test".
//
// GOTEST_NEEDS names programs that the tests need, such as redis-server. A missing one is installed
// if possible. Otherwise the tests that need it are skipped, which counts as neither passed nor
// failed, and the last line, or the file that GOTEST_LEFT_OUT names, says so. With CI=true nothing
// is run in that case, and the exit status is 1. Without a C compiler, -race is removed. It is also
// removed for packages in which no goroutines share memory; they run first (see split).
//
// With GOTEST_SET=machine it runs only the tests whose result may depend on the machine.
//
// If GOTEST_COUNTS names a file, "<passed> <failed>" is also written to it.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
)

func main() {
	code, err := run(os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// run runs the tests and returns the exit status of "go test": of several runs, the first that is
// not 0.
func run(args []string, out io.Writer) (int, error) {
	s := &setup{out: out}
	args, err := s.prepare(args)
	if err != nil {
		return 1, err
	}
	args, err = onMachine(args, out)
	if err != nil {
		return 1, err
	}
	runs, err := split(overlap(args, runtime.NumCPU()), out)
	if err != nil {
		return 1, err
	}
	r := newReport(out)
	code := 0
	for _, args := range runs {
		status, err := s.test(args, r)
		if err != nil {
			return max(status, 1), err
		}
		code = cmp.Or(code, status)
	}
	if code != 0 && r.failed == 0 {
		r.failed = 1 // "go test" failed before any package did
	}
	if path := os.Getenv("GOTEST_COUNTS"); path != "" {
		if err := os.WriteFile(path, fmt.Appendf(nil, "%d %d\n", r.passed, r.failed), 0o644); err != nil {
			return max(code, 1), err
		}
	}
	if r.skipped > 0 {
		fmt.Fprintf(out, "%d skipped\n", r.skipped)
	}
	fmt.Fprintf(out, "%d passed, %d failed\n", r.passed, r.failed)
	s.conclude(r.leftOut)
	return code, nil
}

// linked returns the flags and environment that link the race detector with the C compiler, while
// programs that the tests build are built with CGO_ENABLED=0 as before.
func linked(args []string) (flags, env []string) {
	if !slices.Contains(args, "-race") || os.Getenv("CGO_ENABLED") != "0" {
		return nil, nil
	}
	return []string{"-exec=env CGO_ENABLED=0"}, []string{"CGO_ENABLED=1"}
}

// test runs "go test" once and returns its exit status.
func (s *setup) test(args []string, r *report) (int, error) {
	own, env := linked(args)
	cmd := exec.Command("go", slices.Concat([]string{"test", "-json"}, own, args)...)
	cmd.Stderr, cmd.Env = os.Stderr, slices.Concat(os.Environ(), s.env, env)
	events, err := cmd.StdoutPipe()
	if err != nil {
		return 1, err
	}
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	// On a signal "go test" ends by itself, after its tests; its last reports are still printed.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s) // it may have ended already
		}
	}()
	readErr := r.read(events)
	err = cmd.Wait()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return max(exit.ExitCode(), 1), readErr
	case err != nil:
		return 1, err
	}
	return 0, readErr
}
