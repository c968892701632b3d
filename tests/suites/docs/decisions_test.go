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
// file that it names. A function without a file is declared in the last file before it in its row.
// Each setting with a point in its key is documented.
func TestDecisions(t *testing.T) {
	_, section, found := strings.Cut(read(t, "AGENTS.md"), "## Where it is decided\n")
	if !found {
		t.Fatal("AGENTS.md has no section with the places of decisions")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	settings, places := read(t, "docs/configuration.md"), 0
	for row := range strings.Lines(section) {
		cells := strings.Split(strings.TrimRight(row, " |\n"), "|")
		file := ""
		for _, quoted := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[len(cells)-1], -1) {
			name := quoted[1]
			switch {
			case strings.HasPrefix(name, "edge/"):
				if _, err := os.Stat(filepath.Join(root, name)); err != nil {
					t.Error(err)
				}
				file = name
			case regexp.MustCompile(`^[a-z-]+\.[a-z-]+$`).MatchString(name):
				if !strings.Contains(settings, "| `"+name+"` |") {
					t.Errorf("docs/configuration.md has no setting %s", name)
				}
			case !regexp.MustCompile(`^[A-Za-z]+$`).MatchString(name): // a key of a backend
			case !strings.HasSuffix(file, ".go"):
				t.Errorf("no file with Go code is named before the function %s, in the row %s", name, row)
			case !functions(t, file)[name]:
				t.Errorf("%s has no function %s", file, name)
			default:
				places++
			}
		}
	}
	if places < 20 {
		t.Fatalf("%d places were found", places)
	}
}

// functions returns the names of the functions and methods that a file declares.
func functions(t *testing.T, file string) map[string]bool {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Error(err)
		return nil
	}
	names := make(map[string]bool)
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			names[f.Name.Name] = true
		}
	}
	return names
}
