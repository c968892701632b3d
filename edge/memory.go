package main

import (
	"os"
	"runtime/debug"
)

// gcPercent lets the heap grow to five times what is live before it is collected. An edge keeps little
// and allocates a lot: at Go's default of 100 a busy one collects a few MiB hundreds of times a second.
const gcPercent = 400

// tuneMemory sets how eagerly garbage is collected, unless the operator did with GOGC. GOMEMLIMIT is
// honoured either way.
func tuneMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
