//go:build hosts

package hosts

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// installed installs the pinned hosts, unless they are there, and returns the folder of their programs.
func installed(t *testing.T) string {
	t.Helper()
	pins, err := os.ReadFile("package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(pins)
	want := hex.EncodeToString(sum[:])
	bin, err := filepath.Abs("node_modules/.bin")
	if err != nil {
		t.Fatal(err)
	}
	const stamp = "node_modules/.installed"
	if have, err := os.ReadFile(stamp); err == nil && string(have) == want {
		return bin
	}
	// Not npm ci: it refuses a lock without the packages of other systems, which some registries lack.
	out, err := exec.CommandContext(t.Context(), "npm", "install", "--no-save", "--loglevel=error").CombinedOutput()
	if err != nil {
		t.Fatalf("npm install: %v (npm and access to its packages are needed)\n%s", err, out)
	}
	if err := os.WriteFile(stamp, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
	return bin
}
