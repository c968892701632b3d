//go:build unix

package app

import (
	"math"
	"syscall"
)

// fileLimit is how many files the process may have open, as the Go runtime raised it at the start; 0: not known.
func fileLimit() int {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil || l.Cur == 0 {
		return 0
	}
	return int(min(uint64(l.Cur), math.MaxInt32))
}
