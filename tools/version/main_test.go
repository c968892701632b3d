package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

// The libraries, the chart and the pages that contain a version contain the same one.
func TestOneVersion(t *testing.T) {
	t.Chdir(root)
	version, err := written()
	if err != nil {
		t.Fatal(err)
	}
	if !semantic.MatchString(version) {
		t.Errorf("the version is %q, which not all registries take", version)
	}
}

// A version is written into every place, and a place with another version is named.
func TestVersionIsSet(t *testing.T) {
	dir := t.TempDir()
	for _, p := range places {
		text, err := os.ReadFile(filepath.Join(root, p.file))
		if err != nil {
			t.Fatal(err)
		}
		copied := filepath.Join(dir, p.file)
		if err := os.MkdirAll(filepath.Dir(copied), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(copied, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for _, bad := range []string{"", "1.2", "v1.2.3", "1.2.3-next", "1.2.3-rc1", "01.2.3", "1.2.3\n"} {
		if err := set(bad); err == nil {
			t.Errorf("the version %q was taken", bad)
		}
	}
	for _, good := range []string{"7.8.9-rc.10", "12.34.56"} {
		if err := set(good); err != nil {
			t.Fatal(err)
		}
		if version, err := written(); err != nil || version != good {
			t.Errorf("the version is %q (%v), want %s", version, err, good)
		}
	}
	if err := os.WriteFile("sdk/typescript/src/version.ts", []byte("export const version = \"1.2.3\";\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := written()
	if err == nil || !strings.Contains(err.Error(), "1.2.3 in sdk/typescript/src/version.ts") {
		t.Errorf("two versions: %v", err)
	}
}
