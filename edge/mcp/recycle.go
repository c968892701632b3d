package mcp

import (
	"math/bits"
	"sync"
)

// Large bodies are used again: fresh memory has to be cleared, and brings the next garbage collection nearer.
// Those of 2^smallest to 2^largest bytes are worth it.
const smallest, largest = 15, 22

var recycled [largest - smallest + 1]sync.Pool

// body returns an empty slice with room for size bytes.
func body(size int) []byte {
	if size <= 1<<(smallest-1) || size > 1<<largest {
		return make([]byte, 0, size)
	}
	class := max(bits.Len(uint(size-1)), smallest)
	if b, ok := recycled[class-smallest].Get().(*[]byte); ok {
		return (*b)[:0]
	}
	return make([]byte, 0, 1<<class)
}

// Recycle gives the memory of a Response.Body that is Owned back, for another one. Neither it nor a slice of it may be
// used afterwards.
func Recycle(b []byte) {
	if cap(b) < 1<<smallest {
		return
	}
	if class := bits.Len(uint(cap(b))) - 1; class <= largest {
		recycled[class-smallest].Put(&b)
	}
}
