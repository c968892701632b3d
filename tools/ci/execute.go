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

// grace is the time between SIGTERM and SIGKILL for a stage that exceeded its time bound or was
// cancelled.
const grace = 15 * time.Second

// result is the result of a stage.
type result struct {
	stage          stage
	passed, failed int
	took           time.Duration
	// used is the CPU time of the stage's processes, without that of processes that were not waited
	// for.
	used time.Duration
	// why is the reason of a failure other than failed tests. Empty means that there is none.
	why    string
	output string
}

// String returns the result as one line.
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

// execute runs a stage in a process group of its own, and kills the processes of the group that are
// left. dir is for its files.
func execute(ctx context.Context, s stage, dir string) result {
	start := time.Now()
	r := result{stage: s}
	counts, output := filepath.Join(dir, s.name+".counts"), filepath.Join(dir, s.name+".output")
	// A file, not a pipe: a process that left the group could keep a pipe open.
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

// judge reads the counts. It counts a failure if the command failed, the counts cannot be read, or
// nothing was tested.
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
