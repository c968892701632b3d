package mcp_test

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// A kept body takes the memory that it is counted for, or an eighth more.
func TestKeptBodiesHaveNoRoom(t *testing.T) {
	for _, size := range []int{0, 1, 20_000, 40_000, 600_000, 3 << 20} {
		b := mcp.Keep(append(mcp.Envelope{}.Begin(size), make([]byte, size)...))
		if len(b) != size || cap(b) > size+size/8+64 {
			t.Errorf("%d bytes of %d are kept with room for %d", len(b), size, cap(b))
		}
	}
	if mcp.Keep(nil) != nil {
		t.Error("no body became one")
	}
}

// For any recycled slices, a body has the requested capacity and is not shared.
func TestRecycledBodies(t *testing.T) {
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(1, uint64(worker)))
			for range 300 {
				size := rnd.IntN(1 << rnd.IntN(20))
				b := mcp.Envelope{}.Begin(size)
				if len(b) != 0 || cap(b) < size {
					t.Errorf("room for %d, length %d, want %d and nothing", cap(b), len(b), size)
				}
				b = append(b, bytes.Repeat([]byte{byte(worker)}, size)...)
				if rnd.IntN(8) == 0 {
					b = append(b, make([]byte, rnd.IntN(1<<16))...)[:size] // it grew
				}
				if bytes.Count(b, []byte{byte(worker)}) != size {
					t.Error("the body is shared")
				}
				mcp.Recycle(b)
			}
		})
	}
	wg.Wait()
	mcp.Recycle(make([]byte, 5<<20)) // too large to keep
	if b := (mcp.Envelope{}).Begin(5 << 20); cap(b) < 5<<20 {
		t.Errorf("room for %d", cap(b))
	}
}
