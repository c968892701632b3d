package reflect

import (
	"testing"
	"time"
)

// The pauses between learnings grow while each finds a change, up to a bound, and a service that was calm begins anew.
func TestPauseGrowsWithChanges(t *testing.T) {
	var p pace
	now := time.Unix(1e9, 0)
	learn := func(took time.Duration, changed bool) time.Duration {
		began := now
		now = now.Add(took)
		p.ended(began, now, changed)
		wait := p.wait(now)
		now = now.Add(wait)
		return wait
	}
	if wait := p.wait(now); wait != 0 {
		t.Errorf("the first one waits %s", wait)
	}
	for _, want := range []time.Duration{1, 1, 2, 4, 8, 16, 32, 64, 64, 64} {
		if got := learn(time.Second, true); got != want*time.Second {
			t.Errorf("%s after a change, want %d s", got, want)
		}
	}
	if got := learn(20*time.Second, true); got != maxPause {
		t.Errorf("%s after a long one", got)
	}
	if got := learn(time.Second, false); got != 64*time.Second {
		t.Errorf("%s after none, soon after changes", got)
	}
	now = now.Add(quietTime)
	if got := learn(time.Second, false); got != time.Second {
		t.Errorf("%s when it was calm", got)
	}
	if got := learn(0, true); got != minTaken {
		t.Errorf("%s after a quick one", got)
	}
}

// The pauses after failures grow, too.
func TestPauseGrowsWithFailures(t *testing.T) {
	var p pace
	now := time.Unix(1e9, 0)
	for _, c := range []struct{ took, want time.Duration }{
		{time.Second, time.Second}, {time.Second, 2 * time.Second}, {time.Second, 4 * time.Second}, {time.Minute, maxPause}, {0, 16 * minTaken},
	} {
		p.failed(now, now.Add(c.took), errClosed)
		now = now.Add(c.took)
		if got := p.wait(now); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
	p.ended(now, now, true)
	p.failed(now, now.Add(time.Second), errClosed)
	if got := p.wait(now.Add(time.Second)); got != time.Second {
		t.Errorf("%s after the first failure since one that was none", got)
	}
}
