package kubernetes

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// No code reads a label or an annotation that could grant something: identity, claims, metadata and the like are
// settings of the edge.
func TestAnnotationsThatAreRead(t *testing.T) {
	known := []string{DefaultSelector[:strings.Index(DefaultSelector, "=")], annotationPort, annotationKind, annotationPrefix, annotationTLS}
	names := regexp.MustCompile(`mcpedge\.io/[A-Za-z0-9-]+`)
	var found []string
	err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, name := range names.FindAllString(string(text), -1) {
			if found = append(found, name); !slices.Contains(known, name) {
				t.Errorf("%s has %s: what an annotation may request is among the constants of this package", path, name)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range known {
		if !slices.Contains(found, name) {
			t.Errorf("%s was not found", name)
		}
	}
}
