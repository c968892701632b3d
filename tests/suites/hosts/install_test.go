//go:build hosts

package hosts

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// installed installs the pinned hosts, unless they are there, and returns the folders of their programs, as PATH has them.
func installed(t *testing.T) string {
	t.Helper()
	// Not npm ci: it refuses a lock without the packages of other systems, which some registries lack.
	fill(t, "package-lock.json", "node_modules", []string{"npm", "install", "--no-save", "--loglevel=error"})
	fill(t, requirements, ".venv", []string{python(t), "-m", "venv", "--clear", ".venv"},
		[]string{".venv/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", requirements})
	var folders []string
	for _, folder := range []string{"node_modules/.bin", ".venv/bin"} {
		path, err := filepath.Abs(folder)
		if err != nil {
			t.Fatal(err)
		}
		folders = append(folders, path)
	}
	return strings.Join(folders, string(os.PathListSeparator))
}

// requirements pins the hosts of Python.
const requirements = "requirements.txt"

// fill runs commands that install what a file pins into a folder, unless the folder has it.
func fill(t *testing.T, pins, folder string, commands ...[]string) {
	t.Helper()
	text, err := os.ReadFile(pins)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	want := hex.EncodeToString(sum[:])
	stamp := filepath.Join(folder, ".installed")
	if have, err := os.ReadFile(stamp); err == nil && string(have) == want {
		return
	}
	for _, c := range commands {
		if out, err := exec.CommandContext(t.Context(), c[0], c[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v (npm, Python 3.12 or later with venv, and access to their packages are needed)\n%s", strings.Join(c, " "), err, out)
		}
	}
	if err := os.WriteFile(stamp, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// python returns a Python of version 3.12 or later, which Mistral Vibe needs.
func python(t *testing.T) string {
	t.Helper()
	home, _ := os.UserHomeDir() // empty: no pyenv
	pyenv, err := filepath.Glob(filepath.Join(home, ".pyenv", "versions", "3.1[2-9]*", "bin", "python3"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append([]string{"python3", "python3.14", "python3.13", "python3.12"}, pyenv...) {
		if exec.CommandContext(t.Context(), name, "-c", "import sys; sys.exit(sys.version_info < (3, 12))").Run() == nil {
			return name
		}
	}
	t.Fatal("no Python 3.12 or later: install python3.12 with venv")
	return ""
}
