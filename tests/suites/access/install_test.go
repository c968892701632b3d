//go:build access

package access

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// The pinned packages of the Python SDK are those of make interop.
const requirements = "../../programs/interop/python/requirements.txt"

// pythonPackages is where they are put.
const pythonPackages = ".python"

// Each of these installs something once, in the directory of this package, unless it is there.
var (
	npmPackages = sync.OnceValue(func() error {
		return install("node_modules", "package-lock.json", "npm", "ci", "--ignore-scripts", "--loglevel=error")
	})
	pipPackages = sync.OnceValue(func() error {
		return install(pythonPackages, requirements, "python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
			"--target", pythonPackages, "-r", requirements)
	})
	// chromiumLogin builds the program that has Chromium log somebody in.
	chromiumLogin = sync.OnceValues(func() (string, error) {
		program, err := filepath.Abs("../../../bin/login")
		if err != nil {
			return "", err
		}
		cmd := exec.Command("go", "build", "-buildvcs=false", "-o", program, "./login")
		cmd.Dir = "../browser"
		return program, run(cmd)
	})
)

// uses leaves the test out, in CI fails it, where the system lacks one of these programs.
func uses(t *testing.T, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skip("left out:", err)
		}
	}
}

// need ends the test unless what it needs was installed.
func need(t *testing.T, installs ...func() error) {
	t.Helper()
	for _, install := range installs {
		if err := install(); err != nil {
			t.Fatal(err)
		}
	}
}

// install runs a program that fills dir, unless that was filled by the same pins.
func install(dir, pins, program string, args ...string) error {
	raw, err := os.ReadFile(pins)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(raw)
	want := hex.EncodeToString(sum[:])
	stamp := filepath.Join(dir, ".installed")
	if have, err := os.ReadFile(stamp); err == nil && string(have) == want {
		return nil
	}
	if err := errors.Join(os.RemoveAll(dir), run(exec.Command(program, args...))); err != nil {
		return err
	}
	return os.WriteFile(stamp, []byte(want), 0o644)
}

func run(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}
