//go:build !race

// With the race detector sync.Pool drops a random part of what is put into it, so that counts of allocations differ from run to run.

package dispatch

import (
	"testing"

	"github.com/mcpedge/mcpedge/edge/hook"
)

// TestCallAllocates bounds the allocations that dispatch adds to a bare RPC, with settings that have no hooks. The validator's
// allocations in a call with a schema are the library's. What the catalog only shows otherwise costs no allocation.
func TestCallAllocates(t *testing.T) {
	calls, bare := hotPath(t, func() *hook.Chain { return nil })
	calls["bare"] = bare
	// The minimum of several measurements counts, as each includes the whole process, both ends of the connection with it. They take
	// turns, so that what else the machine does meets all alike.
	least := map[string]float64{}
	for range 15 {
		for name, call := range calls {
			n := testing.AllocsPerRun(150, call)
			if before, measured := least[name]; !measured || n < before {
				least[name] = n
			}
		}
	}
	for name, ceiling := range map[string]float64{"free": 26, "typed": 53} {
		if n := least[name] - least["bare"]; n > ceiling {
			t.Errorf("a %s call makes %v allocations more than a bare RPC, want at most %v", name, n, ceiling)
		}
	}
	for name, as := range map[string]string{"renamed": "free", "described": "typed", unredacted: "free"} {
		if least[name] > least[as] {
			t.Errorf("a %s call makes %v allocations, and a %s one %v", name, least[name], as, least[as])
		}
	}
}
