//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package audit

import (
	"errors"
	"os"
	"syscall"
)

// lock takes an exclusive advisory lock on an open file, which is released when the file is closed
// or the process ends. It reports whether another open file holds it. On a file system without
// locks it does nothing.
func lock(f *os.File) (held bool) { return lockWith(syscall.Flock, int(f.Fd())) }

// lockWith is lock for a descriptor, with a function such as syscall.Flock.
func lockWith(flock func(fd, how int) error, fd int) (held bool) {
	for {
		err := flock(fd, syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			return errors.Is(err, syscall.EWOULDBLOCK)
		}
	}
}
