package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDependenciesAreExplained: docs/dependencies.md names each module that go.mod requires directly, and no other as taken.
func TestDependenciesAreExplained(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs/dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	taken, _, ok := strings.Cut(string(page), "\n## Not taken")
	if !ok {
		t.Fatal("docs/dependencies.md has no section of what is not taken")
	}
	required := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\t([^\s/]+\.[^\s]+) v\S+$`).FindAllStringSubmatch(string(mod), -1) {
		required[m[1]] = true
	}
	if len(required) < 20 {
		t.Fatalf("go.mod has only %d modules that are required directly", len(required))
	}
	named := map[string]bool{}
	for _, m := range regexp.MustCompile("`([a-z]+\\.[a-z.]+/[^`]+|cel\\.dev/[^`]+)`").FindAllStringSubmatch(taken, -1) {
		named[m[1]] = true
	}
	for m := range required {
		if !named[m] {
			t.Errorf("docs/dependencies.md does not explain %s", m)
		}
	}
	for m := range named {
		if !required[m] {
			t.Errorf("docs/dependencies.md explains %s, which go.mod does not require directly", m)
		}
	}
}
