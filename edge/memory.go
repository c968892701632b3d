package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// allowance is how much garbage may always gather before it is collected, in bytes. An edge keeps
	// little and allocates a lot: by Go's default a busy one would collect a few MiB dozens of times a
	// second.
	allowance = 192 << 20
	// lazy bounds how many times what is live may gather as garbage, in percent; eager is Go's default,
	// which holds for an edge that keeps much.
	lazy, eager = 1000, 100
)

// tuneMemory sets how eagerly garbage is collected, from now on after every collection, unless the operator
// did with GOGC. GOMEMLIMIT is honoured either way.
func tuneMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(lazy)
		afterNextCollection(lazy)
	}
}

// gcPercent is the value of GOGC by which as much garbage may gather as lives, or the allowance if that is
// more.
func gcPercent(live uint64) int {
	percent := 100 * float64(allowance) / float64(max(live, 1))
	return int(math.Min(lazy, math.Max(eager, percent)))
}

// afterNextCollection sets the percentage again when the next collection has told what lives.
func afterNextCollection(set int) {
	runtime.AddCleanup(new(struct{ _ [16]byte }), func(set int) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		// Setting it stops the world for a moment: a few percent are not worth that.
		if want := gcPercent(live[0].Value.Uint64()); want < set*9/10 || want > set*11/10 {
			debug.SetGCPercent(want)
			set = want
		}
		afterNextCollection(set)
	}, set)
}
