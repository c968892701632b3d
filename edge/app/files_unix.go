//go:build unix

package app

import (
	"math"
	"syscall"
)

// fileLimit returns how many files the process may have open, as raised by the Go runtime at start;
// 0 means unknown.
func fileLimit() int {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil || l.Cur == 0 {
		return 0
	}
	return int(min(uint64(l.Cur), math.MaxInt32))
}
