package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/tools/internal/packages"
)

// checker runs the steps and counts their results.
type checker struct {
	out            io.Writer
	passed, failed int
}

// run runs every step, also after a failed one. It returns an error if it cannot determine what to
// test.
func (c *checker) run(all, beside bool, base string, list bool) error {
	files, since, err := changedFiles(base)
	if err != nil { // an archive without history
		fmt.Fprintf(c.out, "everything is tested, as git does not say what changed: %v\n", err)
		all = true
	} else {
		fmt.Fprintf(c.out, "%d files differ from %s\n", len(files), since)
	}
	own, others, err := foreign(files)
	if err != nil && !all {
		return err
	}
	m, err := packages.Load(".")
	if err != nil {
		return err
	}
	chosen, err := choose(m, own, all, beside)
	if err != nil {
		return err
	}
	if list {
		fmt.Fprintln(c.out, strings.Join(append(chosen.tested, transcripts), "\n"))
		return nil
	}
	c.step("gofmt", func(out io.Writer) error { return format(out, all, files) })
	c.step("go vet", func(out io.Writer) error { return command(out, "go", "vet", "./...") })
	if err := c.test(chosen.tested); err != nil {
		return err
	}
	for _, command := range append(chosen.left, others...) {
		fmt.Fprintf(c.out, "changed, but left to make test or to you: %s\n", command)
	}
	if path := os.Getenv("GOTEST_COUNTS"); path != "" {
		return os.WriteFile(path, fmt.Appendf(nil, "%d %d\n", c.passed, c.failed), 0o644)
	}
	return nil
}

// step runs a step, counts it as passed or failed, and prints its output if it fails.
func (c *checker) step(name string, run func(io.Writer) error) {
	start := time.Now()
	var said bytes.Buffer
	verdict := "ok  "
	if err := run(&said); err != nil {
		verdict = "FAIL"
		c.failed++
		fmt.Fprintf(&said, "%s: %v\n", name, err)
	} else {
		c.passed++
		said.Reset()
	}
	fmt.Fprintf(c.out, "%s\t%s\t%.1fs\n%s", verdict, name, time.Since(start).Seconds(), said.String())
}

// format reports the Go files that gofmt would change: among files, or in the whole repository if
// all is set.
func format(out io.Writer, all bool, files []string) error {
	args := []string{"-l"}
	for _, file := range files {
		if _, err := os.Stat(file); err == nil && strings.HasSuffix(file, ".go") {
			args = append(args, file)
		}
	}
	if all {
		args = []string{"-l", "."}
	}
	if len(args) == 1 {
		return nil // gofmt would read standard input
	}
	var bad bytes.Buffer
	if err := command(&bad, "gofmt", args...); err != nil || bad.Len() == 0 {
		return err
	}
	fmt.Fprintf(out, "not formatted; run gofmt -w on:\n%s", bad.String())
	return fmt.Errorf("%d files", bytes.Count(bad.Bytes(), []byte("\n")))
}

// test runs the tests of packages and the transcripts of an edge. Its flags and time limit are
// those of make test, so that both share the cache of go test for tests without the race detector.
// The counts are read from gotest.
func (c *checker) test(tested []string) error {
	dir, err := os.MkdirTemp("", "check")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	runs := [][]string{append([]string{"-vet=off", "-timeout=20m"}, tested...), {"-vet=off", "-timeout=20m", "-run=^TestTranscripts$", transcripts}}
	if len(tested) == 0 {
		runs = runs[1:]
	}
	var said = make([]bytes.Buffer, len(runs))
	var running sync.WaitGroup
	for i, args := range runs {
		running.Go(func() {
			cmd := exec.Command("bin/gotest", args...)
			cmd.Stdout, cmd.Stderr = &said[i], &said[i]
			cmd.Env = append(os.Environ(), "GOTEST_COUNTS="+filepath.Join(dir, fmt.Sprint(i)), "MCPEDGE_LEAVE_OUT_REDIS=1")
			_ = cmd.Run() // the counts say what came of it, or are missing
		})
	}
	running.Wait()
	for i := range runs {
		fmt.Fprint(c.out, said[i].String())
		var passed, failed int
		if text, err := os.ReadFile(filepath.Join(dir, fmt.Sprint(i))); err != nil {
			failed = 1
		} else if _, err := fmt.Sscan(string(text), &passed, &failed); err != nil {
			return fmt.Errorf("the counts of gotest: %w", err)
		}
		c.passed, c.failed = c.passed+passed, c.failed+failed
	}
	return nil
}

func command(out io.Writer, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = out, out
	return cmd.Run()
}
