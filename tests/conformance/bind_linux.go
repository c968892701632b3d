package main

import (
	"os/exec"
	"syscall"
)

// bindToParent makes the kernel end cmd when this program dies, however it does. The binding is to
// the thread that starts cmd, so that has to be a locked one.
func bindToParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
