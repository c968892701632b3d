package process

import (
	"os/exec"
	"syscall"
)

// Bind puts cmd into a process group of its own, which KillGroup ends, and makes the kernel end cmd when
// this program dies, however it does. The latter is bound to the thread that starts cmd, so that has to
// be one that lives as long as the program: a main goroutine that is locked to its thread.
func Bind(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// KillGroup ends cmd and whatever it started that still runs.
func KillGroup(cmd *exec.Cmd) error {
	err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	if err == syscall.ESRCH {
		return nil
	}
	return err
}
