//go:build unix

package app

import (
	"math"
	"syscall"
)

// fileLimit returns the maximum number of open files of the process, as the Go runtime has raised
// it at the start. 0 means unknown.
func fileLimit() int {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil || l.Cur == 0 {
		return 0
	}
	return int(min(uint64(l.Cur), math.MaxInt32))
}
