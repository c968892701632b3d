package stateful

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
)

// heap returns the live heap after a collection.
func heap() int {
	// Objects in a pool survive one collection.
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// A call that waits for its user takes little memory beyond its record, whether or not the client
// stays connected.
func TestParkedCallIsItsRecord(t *testing.T) {
	for _, leaves := range []bool{true, false} {
		t.Run(fmt.Sprint("the client leaves ", leaves), func(t *testing.T) {
			inLimits(t, Options{CallLifetime: time.Hour}, state.Limits{SessionBytes: 64 << 20}, func(t *testing.T, w *world) {
				const size, calls = 1 << 20, 16
				s := w.initialize(v1125)
				w.backend.tools["ask"] = asking(elicit("name"))
				park := func(id int) {
					x := w.post(w.a, s, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"ask","arguments":{"n":%q}}}`,
						id, strings.Repeat("x", size)))
					if ids, _ := asked(t, x); len(ids) != 1 {
						t.Fatalf("asked %d times", len(ids))
					}
					if leaves {
						x.cancel()
						after(time.Millisecond)
						if !x.ended() {
							t.Fatal("the exchange continues without its client")
						}
					}
					w.backend.forget()
				}
				park(0)
				before := heap()
				for i := range calls {
					park(i + 1)
				}
				each := (heap() - before) / calls
				t.Logf("a parked call with params of %d bytes takes %d", size, each)
				if each > size+size/4 {
					t.Errorf("a parked call with params of %d bytes takes %d", size, each)
				}
			})
		})
	}
}
