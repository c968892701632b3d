package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/mcpedge/mcpedge/edge/config"
)

// How much garbage may gather before it is collected. An edge keeps little and allocates a lot: by Go's default
// a busy one would collect a few MiB dozens of times a second, and one with thousands of idle streams would
// look through all of them every second.
const (
	// little may always gather, in bytes.
	little = 32 << 20
	// ample is how many times what is live may gather, in percent, up to much, in bytes.
	ample, much = 500, 256 << 20
	// lazy bounds the percentage while nearly nothing is live; eager is Go's default, which holds for an edge
	// that keeps more than much.
	lazy, eager = 1000, 100
)

// containerShare is how much of its container's limit an edge takes: what Go's runtime does not count, such as the
// kernel's buffers of connections, is beside it.
const containerShare = 0.8

// limitMemory has Go's runtime keep to what the process may take, unless the operator set GOMEMLIMIT, and returns that:
// the setting memory; with 0 GOMEMLIMIT, else a share of the container's limit, else half of the machine's memory. Where
// none of these is known it returns 0 and limits nothing.
func limitMemory(setting config.Bytes) config.Bytes {
	runtimeLimit := debug.SetMemoryLimit(-1) // GOMEMLIMIT, else the largest number
	operator := os.Getenv("GOMEMLIMIT") != ""
	if setting == 0 && operator && runtimeLimit < math.MaxInt64 {
		return config.Bytes(runtimeLimit)
	}
	if setting == 0 {
		setting = availableMemory()
	}
	if setting > 0 && !operator {
		debug.SetMemoryLimit(int64(setting))
	}
	return setting
}

// availableMemory is what an edge takes of the memory there is.
func availableMemory() config.Bytes {
	container, err := memlimit.ApplyRatio(memlimit.FromCgroup, containerShare)()
	machine, machineErr := memlimit.ApplyRatio(memlimit.FromSystem, 0.5)()
	switch {
	case err == nil && (machineErr != nil || container < machine*2):
		return config.Bytes(min(container, math.MaxInt64))
	case machineErr == nil:
		return config.Bytes(min(machine, math.MaxInt64))
	}
	return 0
}

// tuneMemory sets how eagerly garbage is collected, from now on after every collection, unless the operator
// did with GOGC. GOMEMLIMIT is honoured either way.
func tuneMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(lazy)
		afterNextCollection(lazy)
	}
}

// gcPercent is the value of GOGC for so many bytes that are live, of the heap, stacks and globals.
func gcPercent(live uint64) int {
	share := func(garbage float64) float64 { return 100 * garbage / float64(max(live, 1)) }
	return int(min(lazy, max(share(little), min(ample, share(much)), eager)))
}

// afterNextCollection sets the percentage again when the next collection has told what lives.
func afterNextCollection(set int) {
	runtime.AddCleanup(new(struct{ _ [16]byte }), func(set int) {
		// What GOGC is a percentage of: stacks and globals count too.
		base := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
		metrics.Read(base)
		live := uint64(0)
		for _, b := range base {
			live += b.Value.Uint64()
		}
		// Setting it stops the world for a moment: a few percent are not worth that.
		if want := gcPercent(live); want < set*9/10 || want > set*11/10 {
			debug.SetGCPercent(want)
			set = want
		}
		afterNextCollection(set)
	}, set)
}
