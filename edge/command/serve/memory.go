package serve

import (
	"math"
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/mcpedge/mcpedge/edge/config"
)

// gcPercent is the value of GOGC unless the operator sets it: the heap may grow to five times the
// live heap. An edge retains little and allocates much, so that Go's default, 100, would collect
// dozens of times a second.
const gcPercent = 400

// containerShare is the share of the container's limit that an edge uses. The rest is for memory
// that Go's runtime does not count, such as the kernel's buffers of connections.
const containerShare = 0.8

// programSize is the resident size of the program file in bytes. These are the pages that were
// executed or read; Go's runtime does not count them. The value is measured (RssFile in
// /proc/PID/status) and rounded up.
const programSize = 48 << 20

// limitMemory sets the memory limit of Go's runtime, unless the operator set GOMEMLIMIT, and
// returns the memory limit of the process.
//
// The latter is the setting server.memory. If that is 0, it is GOMEMLIMIT, else a share of the
// container's limit, else half of the machine's memory. If none is known, limitMemory returns 0 and
// sets no limit. With server.memory, the runtime's limit is lower by programSize, but at most by an
// eighth.
func limitMemory(setting config.Bytes) config.Bytes {
	runtimeLimit := debug.SetMemoryLimit(-1) // GOMEMLIMIT, or math.MaxInt64 without it
	operator := os.Getenv("GOMEMLIMIT") != ""
	if setting == 0 && operator && runtimeLimit < math.MaxInt64 {
		return config.Bytes(runtimeLimit)
	}
	heap := setting - min(programSize, setting/8)
	if setting == 0 {
		setting = availableMemory()
		heap = setting // the share already leaves room for the program
	}
	if setting > 0 && !operator {
		debug.SetMemoryLimit(int64(heap))
	}
	return setting
}

// availableMemory returns the memory that an edge uses without settings: a share of the container's
// limit, else half of the machine's memory, or 0 if neither is known.
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

// SetGCPercent sets gcPercent, unless the operator set GOGC. The memory limit applies either way.
func SetGCPercent() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
