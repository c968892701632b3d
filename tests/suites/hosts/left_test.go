//go:build hosts

package hosts

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// endLeft kills the processes with the home of a host that have left its process group, such as Cline's hub, which serves all its windows. They
// are found in /proc; elsewhere than on Linux none is.
func endLeft(home string) {
	found, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range found {
		raw, err := os.ReadFile(path)
		if err != nil || !slices.Contains(strings.Split(string(raw), "\x00"), "HOME="+home) {
			continue // It has ended, or is another user's.
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil && pid != os.Getpid() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
