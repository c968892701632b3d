package main

import (
	"os/exec"
	"syscall"
)

// bindToParent puts cmd into a process group of its own, which killGroup ends, and makes the kernel
// end cmd when this program dies, however it does. The latter is bound to the thread that starts
// cmd, so that has to be a locked one.
func bindToParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// killGroup ends cmd and whatever it started that still runs.
func killGroup(cmd *exec.Cmd) error {
	err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	if err == syscall.ESRCH {
		return nil
	}
	return err
}
