//go:build !linux

package main

import (
	"errors"
	"os"
	"os/exec"
)

// bindToParent does nothing here: only Linux can end a child with its parent.
func bindToParent(*exec.Cmd) {}

// killGroup ends cmd.
func killGroup(cmd *exec.Cmd) error {
	if err := cmd.Process.Kill(); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}
