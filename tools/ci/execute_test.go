package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestResultOfAStage(t *testing.T) {
	t.Setenv("GOTEST_COUNTS", filepath.Join(t.TempDir(), "of another run"))
	for name, c := range map[string]struct {
		run, counts    string
		passed, failed int
		why            string
	}{
		"passes":                  {`echo out; echo err >&2; echo "3 0" >"$GOTEST_COUNTS"`, "", 3, 0, ""},
		"a variable of its own":   {`echo "3 0" >"$LINT_COUNTS"`, "LINT_COUNTS", 3, 0, ""},
		"tests fail":              {`echo "3 2" >"$GOTEST_COUNTS"; exit 1`, "", 3, 2, "exit status 1"},
		"fails before it counts":  {`exit 4`, "", 0, 1, "exit status 4"},
		"fails after it counted":  {`echo "3 0" >"$GOTEST_COUNTS"; exit 1`, "", 3, 1, "exit status 1"},
		"says so by counts alone": {`echo "3 2" >"$GOTEST_COUNTS"`, "", 3, 2, ""},
		"counts nothing":          {`true`, "", 0, 1, "it ran nothing"},
		"counts zero":             {`echo "0 0" >"$GOTEST_COUNTS"`, "", 0, 1, "it ran nothing"},
		"counts what is none":     {`echo many >"$GOTEST_COUNTS"`, "", 0, 1, "cannot be read"},
		"a step fails":            {"false\n" + `echo "3 0" >"$GOTEST_COUNTS"`, "", 0, 1, "exit status 1"},
		"a pipe fails":            {"false | cat\n" + `echo "3 0" >"$GOTEST_COUNTS"`, "", 0, 1, "exit status 1"},
		"an unset variable":       {`echo "$NONE_OF_THIS_NAME"` + "\n" + `echo "3 0" >"$GOTEST_COUNTS"`, "", 0, 1, "exit status"},
	} {
		t.Run(name, func(t *testing.T) {
			r := execute(t.Context(), stage{name: "s", run: c.run, counts: c.counts, within: time.Minute}, t.TempDir())
			if r.passed != c.passed || r.failed != c.failed || !strings.Contains(r.why, c.why) || c.why == "" && r.why != "" {
				t.Errorf("%v; printed %q", r, r.output)
			}
			if name == "passes" && r.output != "out\nerr\n" {
				t.Errorf("printed %q", r.output)
			}
		})
	}
}

// TestCPUOfAStage: the CPU time of a stage is that of the processes that it started.
func TestCPUOfAStage(t *testing.T) {
	r := execute(t.Context(), stage{
		name: "busy", within: time.Minute,
		run: `bash -c 'for ((i = 0; i < 200000; i++)); do :; done'; echo "1 0" >"$GOTEST_COUNTS"`,
	}, t.TempDir())
	if r.used < 50*time.Millisecond || r.used > time.Minute {
		t.Errorf("it used %v of CPU in %v", r.used, r.took)
	}
}

// TestBoundOfAStage: a stage that exceeds its time bound fails with that reason, and its processes
// end, also those that ignore signals.
func TestBoundOfAStage(t *testing.T) {
	for within := 2 * time.Second; within <= time.Minute; within *= 2 {
		dir := t.TempDir()
		child := filepath.Join(dir, "child")
		start := time.Now()
		r := execute(t.Context(), stage{
			name: "slow", within: within,
			run: `echo "5 0" >"$GOTEST_COUNTS"; (trap '' TERM; echo "$BASHPID" >` + child + `; while :; do sleep 1; done) & wait`,
		}, dir)
		if took := time.Since(start); took < within {
			t.Errorf("it ended after %v", took)
		}
		text, _ := os.ReadFile(child)
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			continue // The stage was ended before it had started its process: it gets more time.
		}
		if r.failed != 1 || r.passed != 5 || !strings.Contains(r.String(), "slow") || !strings.Contains(r.why, fmt.Sprintf("crossed its bound of %v", within)) {
			t.Errorf("%v", r)
		}
		awaitEnd(t, pid)
		return
	}
	t.Error("no stage started its process within its bound")
}

func TestEndedStage(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := execute(ctx, stage{name: "s", run: "true", within: time.Minute}, t.TempDir()); r.failed != 1 {
		t.Errorf("%v", r)
	}
}

// awaitEnd waits until a process has ended or is a zombie.
func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); syscall.Kill(pid, 0) == nil; time.Sleep(10 * time.Millisecond) {
		status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		if err == nil && strings.Contains(string(status), ") Z ") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d goes on", pid)
		}
	}
}
