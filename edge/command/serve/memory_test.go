package serve

import (
	"math"
	"runtime/debug"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
)

// SetGCPercent does not override the operator's GOGC.
func TestSetGCPercent(t *testing.T) {
	const theirs = 150
	was := debug.SetGCPercent(theirs)
	defer debug.SetGCPercent(was)
	percent := func() int {
		p := debug.SetGCPercent(theirs)
		debug.SetGCPercent(p)
		return p
	}
	t.Setenv("GOGC", "150")
	SetGCPercent()
	if got := percent(); got != theirs {
		t.Errorf("with GOGC=%d it is %d", theirs, got)
	}
	t.Setenv("GOGC", "")
	SetGCPercent()
	if got := percent(); got != gcPercent {
		t.Errorf("without GOGC it is %d, want %d", got, gcPercent)
	}
}

// The runtime's limit follows the setting, or the available memory without one. The operator's
// GOMEMLIMIT overrides both.
func TestLimitMemory(t *testing.T) {
	was := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(was)
	limit := func() int64 { return debug.SetMemoryLimit(-1) }
	const setting, small, operators = 512 << 20, 128 << 20, 1 << 30
	there := int64(availableMemory())
	for _, c := range []struct {
		name            string
		operator        string
		setting         int64
		runtime, memory int64
	}{
		{"the setting", "", setting, 464 << 20, setting},
		{"a small setting", "", small, 112 << 20, small},
		{"neither", "", 0, there, there},
		{"both", "1GiB", setting, operators, setting},
		{"GOMEMLIMIT", "1GiB", 0, operators, operators},
		{"GOMEMLIMIT=off", "off", 0, math.MaxInt64, there},
	} {
		t.Setenv("GOMEMLIMIT", c.operator)
		at := int64(math.MaxInt64) // the limit that the runtime reads from GOMEMLIMIT when the process starts
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
