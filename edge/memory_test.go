package main

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestGCPercent(t *testing.T) {
	for live, want := range map[uint64]int{
		0: lazy, 1 << 20: lazy, little / 10: lazy, little / 8: 800, little: ample, much / 5: ample, much / 2: 200, much: eager, 1 << 33: eager,
	} {
		if got := gcPercent(live); got != want {
			t.Errorf("%d bytes live: %d, want %d", live, got, want)
		}
	}
}

// The collector is lazy while little lives, eager while much does, and lazy again afterwards.
func TestCollectorFollowsWhatLives(t *testing.T) {
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(eager)
	tuneMemory()
	become := func(want func(percent int) bool) {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
			runtime.GC()
			percent := debug.SetGCPercent(eager)
			debug.SetGCPercent(percent)
			if want(percent) {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("GOGC stays %d", percent)
			}
		}
	}
	become(func(p int) bool { return p > 400 })
	kept := make([]byte, much)
	become(func(p int) bool { return p == eager })
	runtime.KeepAlive(kept)
	become(func(p int) bool { return p > 400 })
}
