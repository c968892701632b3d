package process

import (
	"os/exec"
	"syscall"
)

// Bind puts cmd into its own process group, which KillGroup ends, and makes the kernel end cmd when
// this program ends. The latter depends on the thread that starts cmd, so that thread must live as
// long as the program: use a main goroutine that is locked to its thread.
func Bind(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// KillGroup ends cmd and all processes that it started.
func KillGroup(cmd *exec.Cmd) error {
	err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	if err == syscall.ESRCH {
		return nil
	}
	return err
}
