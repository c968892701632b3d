package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDecisions: each function that AGENTS.md names as the place of a decision is declared in the
// file that it names.
func TestDecisions(t *testing.T) {
	_, section, found := strings.Cut(read(t, "AGENTS.md"), "## Where it is decided\n")
	if !found {
		t.Fatal("AGENTS.md has no section with the places of decisions")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	places := regexp.MustCompile("`(edge/[a-z0-9/]+\\.go)` `([A-Za-z]+)`").FindAllStringSubmatch(section, -1)
	if len(places) < 20 {
		t.Fatalf("%d places were found", len(places))
	}
	for _, p := range places {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, p[1]), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			continue
		}
		declared := false
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			declared = declared || ok && f.Name.Name == p[2]
		}
		if !declared {
			t.Errorf("%s has no function %s", p[1], p[2])
		}
	}
	for _, p := range regexp.MustCompile("`(edge/[a-z0-9/.]+)`").FindAllStringSubmatch(section, -1) {
		if _, err := os.Stat(filepath.Join(root, p[1])); err != nil {
			t.Error(err)
		}
	}
}
