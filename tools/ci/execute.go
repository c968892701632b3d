package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// grace is how long a stage that crossed its bound, or is ended from outside, has to end by itself.
const grace = 15 * time.Second

// result is what came of a stage.
type result struct {
	stage          stage
	passed, failed int
	took           time.Duration
	// used is the processor time of its processes, except of those whose end none of them awaited.
	used time.Duration
	// why it failed apart from its tests; empty: it did not, or they say it.
	why    string
	output string
}

// String is one line for people.
func (r result) String() string {
	line := fmt.Sprintf("%-22s %5d passed, %d failed, %d s", r.stage.name, r.passed, r.failed, seconds(r.took))
	if r.took > 0 {
		line += fmt.Sprintf(", %d s of CPU (%.1f cores)", seconds(r.used), r.used.Seconds()/r.took.Seconds())
	}
	if r.why != "" {
		line += " (" + r.why + ")"
	}
	return line
}

func seconds(d time.Duration) int { return int(d.Round(time.Second).Seconds()) }

// execute runs a stage to its end, in a group of processes of its own, none of which outlives it. dir is for its files.
func execute(ctx context.Context, s stage, dir string) result {
	start := time.Now()
	r := result{stage: s}
	counts, output := filepath.Join(dir, s.name+".counts"), filepath.Join(dir, s.name+".output")
	// A file, not a pipe: a process that left the group cannot keep it open for ever.
	out, err := os.Create(output)
	if err != nil {
		return result{stage: s, failed: 1, why: err.Error()}
	}
	defer out.Close()
	bounded, cancel := context.WithTimeoutCause(ctx, s.within, errors.New("it crossed its bound of "+s.within.String()))
	defer cancel()
	cmd := exec.CommandContext(bounded, "bash", "-euo", "pipefail", "-c", s.run)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Env = append(os.Environ(), s.countsVariable()+"="+counts)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = grace
	err = cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what is left of the group, if anything
	}
	if bounded.Err() != nil && err != nil {
		err = context.Cause(bounded)
	}
	r.took = time.Since(start)
	if cmd.ProcessState != nil {
		r.used = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	r.judge(err, counts)
	text, readErr := os.ReadFile(output)
	if readErr != nil {
		text = []byte(readErr.Error())
	}
	r.output = string(text)
	return r
}

func (s stage) countsVariable() string {
	if s.counts == "" {
		return "GOTEST_COUNTS"
	}
	return s.counts
}

// judge reads the counts and makes a failure of what they do not say: an error of the command, and that it ran nothing.
func (r *result) judge(err error, counts string) {
	if text, readErr := os.ReadFile(counts); readErr == nil {
		if _, scanErr := fmt.Sscan(string(text), &r.passed, &r.failed); scanErr != nil {
			r.passed, r.failed, r.why = 0, 1, fmt.Sprintf("its counts cannot be read: %q", text)
		}
	}
	switch {
	case err != nil:
		r.failed = max(r.failed, 1)
		r.why = err.Error()
	case r.passed == 0 && r.failed == 0:
		r.failed, r.why = 1, "it ran nothing"
	}
}
