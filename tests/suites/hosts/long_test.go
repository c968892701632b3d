//go:build hosts

package hosts

import (
	"flag"
	"fmt"
	"testing"
	"time"
)

var long = flag.Bool("long", false, "measure how long hosts wait for calls, which takes minutes")

// longest is how long a measured call takes, in seconds.
const longest = 90

// TestLong measures how long each host waits for a call that is silent, and for one that reports progress every five seconds, and compares it with
// its row in docs/hosts.md.
func TestLong(t *testing.T) {
	if !*long {
		t.Skip("-long measures it")
	}
	bin := installed(t)
	w := newWorld(t)
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			silent, reporting := newRun(t, p, w.open, bin, "").takeTime(false), newRun(t, p, w.open, bin, "").takeTime(true)
			row := fmt.Sprintf("| %s %s | %s | %s | measured |", p.title, p.version(t), silent.waited(), reporting.waited())
			compare(t, "long calls", []string{"silent", "with progress every 5 s", "from"}, p.title, row, nil)
		})
	}
}

// takeTime starts a call of longest seconds.
func (r *run) takeTime(progress bool) *job {
	r.t.Helper()
	return r.start("Begin.", step{"take_time", object{"seconds": longest, "progress": progress}})
}

// waited returns how long the host waited for the call.
func (j *job) waited() string {
	j.t.Helper()
	if has(j.wait(), "took its time") {
		return fmt.Sprintf("%d s or more", longest)
	}
	for _, q := range j.rec.requests() {
		if q.name == "take_time" {
			return fmt.Sprintf("%.0f s", q.took.Round(5*time.Second).Seconds())
		}
	}
	j.t.Error("it did not call")
	return ""
}
