package main

import (
	"fmt"
	"syscall"
)

// files are how many this process, and each that it measures, may have open: the idle sessions' and some.
const files = idleSessions + 2000

// raiseFiles sees to it. Processes inherit the limit.
func raiseFiles() error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return fmt.Errorf("the limit of open files: %w", err)
	}
	old := l
	l.Cur, l.Max = max(l.Cur, files), max(l.Max, files)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return fmt.Errorf("the benchmarks open %d files in one process, and the limit of %d (at most %d) cannot be raised (%w): "+
			"allow more, for example with ulimit -Hn %d as root", files, old.Cur, old.Max, err, files)
	}
	return nil
}
