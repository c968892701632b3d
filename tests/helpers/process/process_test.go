package process

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestTakeBuilt(t *testing.T) {
	built, dir := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(built, "edge"), []byte("program"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(built, "tools"), 0o755); err != nil {
		t.Fatal(err)
	}
	packages := []string{"./edge", "./services/everything", "./services/tools"}
	left, err := takeBuilt(built, dir, packages)
	if err != nil || !slices.Equal(left, packages[1:]) {
		t.Errorf("left to build: %v, %v", left, err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "edge")); err != nil || string(text) != "program" {
		t.Errorf("the program is %q, %v", text, err)
	}
	if _, err := takeBuilt(built, dir, packages); err == nil {
		t.Error("a program was replaced")
	}
	if left, err := takeBuilt("", dir, packages); err != nil || !slices.Equal(left, packages) {
		t.Errorf("without a directory: %v, %v", left, err)
	}
	if left, err := takeBuilt(filepath.Join(built, "none"), dir, packages); err != nil || !slices.Equal(left, packages) {
		t.Errorf("without programs: %v, %v", left, err)
	}
}
