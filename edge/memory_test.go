package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/config"
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

// The runtime keeps to the setting, or to what there is without one; the operator's GOMEMLIMIT has the last word.
func TestLimitMemory(t *testing.T) {
	was := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(was)
	limit := func() int64 { return debug.SetMemoryLimit(-1) }
	const setting, operators = 512 << 20, 1 << 30
	there := int64(availableMemory())
	for _, c := range []struct {
		name            string
		operator        string
		setting         int64
		runtime, memory int64
	}{
		{"the setting", "", setting, setting, setting},
		{"neither", "", 0, there, there},
		{"both", "1GiB", setting, operators, setting},
		{"GOMEMLIMIT", "1GiB", 0, operators, operators},
		{"GOMEMLIMIT=off", "off", 0, math.MaxInt64, there},
	} {
		t.Setenv("GOMEMLIMIT", c.operator)
		at := int64(math.MaxInt64) // what the runtime reads from GOMEMLIMIT when the process starts
		if c.operator == "1GiB" {
			at = operators
		}
		debug.SetMemoryLimit(at)
		memory := limitMemory(config.Bytes(c.setting))
		if got := limit(); got != c.runtime || int64(memory) != c.memory {
			t.Errorf("%s: the runtime keeps to %d, want %d; the process may take %d, want %d", c.name, got, c.runtime, memory, c.memory)
		}
	}
	if n := availableMemory(); n <= 0 {
		t.Errorf("%d bytes are there", n)
	}
}
