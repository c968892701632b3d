package telemetry

import (
	"fmt"
	"sync"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// A backend has a bounded number of names in metrics, whatever it lists, and takes none from
// another's.
func TestTargetsAreBounded(t *testing.T) {
	var all targets
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i := range 3 * maxTargets {
				all.bounded(target{"many", mcp.MethodToolsCall, fmt.Sprint("t", i)})
			}
		})
	}
	group.Wait()
	names := map[string]bool{}
	for i := range 3 * maxTargets {
		names[all.bounded(target{"many", mcp.MethodToolsCall, fmt.Sprint("t", i)})] = true
	}
	if len(names) != maxTargets+1 || !names[otherTarget] {
		t.Errorf("%d names, want %d and %s", len(names), maxTargets, otherName)
	}
	for _, one := range []target{{"few", mcp.MethodToolsCall, "t"}, {"many", mcp.MethodPromptsGet, "p"}} {
		for range 2 {
			if got := all.bounded(one); got != one.name {
				t.Errorf("%v is %s", one, got)
			}
		}
	}
	for i := range 2 * maxSeries {
		all.bounded(target{fmt.Sprint("b", i), mcp.MethodToolsCall, "t"})
	}
	if n := len(*all.known.Load()); n != maxSeries {
		t.Errorf("%d names are kept, want %d", n, maxSeries)
	}
}
