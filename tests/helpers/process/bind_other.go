//go:build !linux

package process

import (
	"errors"
	"os"
	"os/exec"
)

// Bind does nothing: only on Linux a child can end with its parent.
func Bind(*exec.Cmd) {}

// KillGroup ends cmd.
func KillGroup(cmd *exec.Cmd) error {
	if err := cmd.Process.Kill(); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}
