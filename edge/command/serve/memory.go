package serve

import (
	"math"
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/mcpedge/mcpedge/edge/config"
)

// gcPercent is the value of GOGC unless the operator sets it: garbage may gather up to four times what lives. An edge
// keeps little and allocates a lot, so that Go's default, 100, would have it collect dozens of times a second.
const gcPercent = 400

// containerShare is how much of its container's limit an edge takes: what Go's runtime does not count, such as the
// kernel's buffers of connections, is beside it.
const containerShare = 0.8

// programSize is what the program itself has in memory, in bytes: the pages of its file that have run or been read. Go's
// runtime does not count them. It is measured (RssFile in /proc/PID/status) and rounded up.
const programSize = 48 << 20

// limitMemory has Go's runtime keep to what the process may take, unless the operator set GOMEMLIMIT, and returns that:
// the setting memory, of which the runtime has what programSize leaves, or seven eighths of a small one; with 0
// GOMEMLIMIT, else a share of the container's limit, else half of the machine's memory. Where none of these is known it
// returns 0 and limits nothing.
func limitMemory(setting config.Bytes) config.Bytes {
	runtimeLimit := debug.SetMemoryLimit(-1) // GOMEMLIMIT, else the largest number
	operator := os.Getenv("GOMEMLIMIT") != ""
	if setting == 0 && operator && runtimeLimit < math.MaxInt64 {
		return config.Bytes(runtimeLimit)
	}
	heap := setting - min(programSize, setting/8)
	if setting == 0 {
		setting = availableMemory()
		heap = setting // a share, which leaves room for the program, or for most of it where a container is small
	}
	if setting > 0 && !operator {
		debug.SetMemoryLimit(int64(heap))
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

// SetGCPercent has Go's runtime collect as gcPercent says, unless the operator set GOGC. The limit of memory counts
// either way.
func SetGCPercent() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
