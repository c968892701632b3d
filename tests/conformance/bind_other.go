//go:build !linux

package main

import "os/exec"

// bindToParent does nothing here: only Linux can end a child with its parent.
func bindToParent(*exec.Cmd) {}
