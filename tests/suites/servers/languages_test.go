//go:build servers

package servers

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

// language is a programming language and how its server is installed and started.
type language struct {
	name string
	// needs are the programs that the system has to have.
	needs []string
	// install installs the pinned packages, once.
	install func() error
	// command starts the server; flags are appended.
	command []string
	// commented is true if its reflection has the comments of the proto files.
	commented bool
}

var languages = []language{
	{
		name: "node", needs: []string{"node", "npm"}, command: []string{"node", "node/main.mjs"},
		install: sync.OnceValue(func() error {
			return install("node/node_modules", "node/package-lock.json", []string{"npm", "ci", "--prefix=node", "--ignore-scripts", "--loglevel=error"})
		}),
	},
	{
		name: "python", needs: []string{"python3"}, command: []string{"python/.venv/bin/python", "python/main.py"},
		install: sync.OnceValue(func() error {
			return install("python/.venv", "python/requirements.txt", []string{"python3", "-m", "venv", "python/.venv"},
				[]string{"python/.venv/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", "python/requirements.txt"})
		}),
	},
	{
		name: "rust", needs: []string{"cargo"}, command: []string{"rust/target/debug/garden"}, commented: true,
		install: sync.OnceValue(func() error {
			return run("cargo", "build", "--quiet", "--locked", "--manifest-path=rust/Cargo.toml", "--target-dir=rust/target")
		}),
	},
}

// eachLanguage runs a test for each language. A language is skipped if the system lacks a program that it needs; in CI that is a failure.
func eachLanguage(t *testing.T, test func(t *testing.T, l language)) {
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			for _, program := range l.needs {
				if _, err := exec.LookPath(program); err != nil {
					if os.Getenv("CI") == "true" {
						t.Fatal(err)
					}
					t.Skip("left out:", err)
				}
			}
			if err := l.install(); err != nil {
				t.Fatal(err)
			}
			test(t, l)
		})
	}
}

// install runs commands that fill dir, unless it was filled by the same pins.
func install(dir, pins string, commands ...[]string) error {
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
	errs := []error{os.RemoveAll(dir)}
	for _, c := range commands {
		errs = append(errs, run(c...))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return os.WriteFile(stamp, []byte(want), 0o644)
}

func run(command ...string) error {
	cmd := exec.Command(command[0], command[1:]...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}
