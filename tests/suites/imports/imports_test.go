package imports

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module = "github.com/mcpedge/mcpedge/"
	root   = "../../.."
)

// source is one Go file.
type source struct {
	dir, name string
	file      *ast.File
	imports   []string
}

// sources are the files of a tree that are not tests.
func sources(t *testing.T, tree string) []source {
	t.Helper()
	return slices.DeleteFunc(files(t, tree), func(s source) bool { return strings.HasSuffix(s.name, "_test.go") })
}

// files are the Go files of a tree.
func files(t *testing.T, tree string) []source {
	t.Helper()
	var out []source
	set := token.NewFileSet()
	err := filepath.WalkDir(filepath.Join(root, tree), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		f, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		s := source{dir: filepath.ToSlash(filepath.Dir(rel)), name: filepath.ToSlash(rel), file: f}
		for _, spec := range f.Imports {
			p, _ := strconv.Unquote(spec.Path.Value)
			s.imports = append(s.imports, p)
		}
		out = append(out, s)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) == 0 {
		t.Fatalf("no Go source below %s", tree)
	}
	return out
}

func TestImportLaw(t *testing.T) {
	may := map[string][]string{}
	for _, p := range Law {
		may[p.Path] = p.May
	}
	seen := map[string]bool{}
	for _, s := range sources(t, "edge") {
		seen[s.dir] = true
		allowed, ok := may[s.dir]
		if !ok {
			t.Errorf("%s: package %s is not in the law: give it a row, or a home in a package that has one", s.name, s.dir)
			continue
		}
		for _, p := range s.imports {
			if ours, ok := strings.CutPrefix(p, module); ok && !slices.Contains(allowed, ours) {
				t.Errorf("%s imports %s: %s may import only %v", s.name, ours, s.dir, allowed)
			}
			if only, ok := Only[p]; ok && !slices.Contains(only, s.dir) {
				t.Errorf("%s imports %s: only %v may", s.name, p, only)
			}
		}
	}
	for path := range may {
		if !seen[path] {
			t.Errorf("the law has a row for %s, which does not exist", path)
		}
	}
}

// maxLinked bounds the packages of others that the program is built of. A dependency that brings more has to be worth the
// time of everybody's first build.
const maxLinked = 618

// heavy are the beginnings of packages that the program was built of, or might be by a careless import, and goes without.
var heavy = []string{"k8s.io/", "sigs.k8s.io/", "google.golang.org/grpc/xds", "cloud.google.com/", "github.com/spf13/", "github.com/envoyproxy/", "github.com/mcpedge/mcpedge/tests/"}

func TestProgramIsSmall(t *testing.T) {
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "./edge")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	linked, foreign := strings.Fields(string(out)), 0
	for _, p := range linked {
		if !strings.HasPrefix(p, module) {
			foreign++
		}
	}
	if foreign > maxLinked {
		t.Errorf("the program is built of %d packages of others, more than %d: `go list -deps ./edge` lists them", foreign, maxLinked)
	}
	for _, p := range linked {
		if slices.ContainsFunc(heavy, func(h string) bool { return strings.HasPrefix(p, h) }) {
			t.Errorf("the program is built of %s, which is heavy: `go list -deps -f '{{.ImportPath}}: {{.Imports}}' ./edge` says for whom", p)
		}
	}
}

// What a request names is looked up in one room: no other has its tables.
func TestNamesAreLookedUpInTheCatalog(t *testing.T) {
	tables := map[string]bool{"ByName": true, "byName": true, "ByURI": true, "byURI": true, "ByText": true, "byText": true}
	found := 0
	for _, s := range sources(t, "edge") {
		ast.Inspect(s.file, func(n ast.Node) bool {
			index, ok := n.(*ast.IndexExpr)
			if !ok {
				return true
			}
			if x, ok := index.X.(*ast.SelectorExpr); ok && tables[x.Sel.Name] {
				if s.dir == "edge/catalog" {
					found++
				} else {
					t.Errorf("%s looks up by %s: Catalog.Resolve does", s.name, x.Sel.Name)
				}
			}
			return true
		})
	}
	if found == 0 {
		t.Error("the catalog has no such tables any more: name those that it has")
	}
}

// Backends know nothing of the edge: what they share is the contract.
func TestServicesAndCapabilityDoNotKnowTheEdge(t *testing.T) {
	for _, tree := range []string{"services", "capability"} {
		for _, s := range sources(t, tree) {
			for _, p := range s.imports {
				if strings.HasPrefix(p, module+"edge") || tree == "capability" && strings.HasPrefix(p, module+"services") {
					t.Errorf("%s imports %s", s.name, p)
				}
			}
		}
	}
}

// What only tests need is in three folders, of which each knows less than the one before: suites and programs know helpers and no
// other suite or program, helpers know helpers only.
func TestSuitesKnowHelpersOnly(t *testing.T) {
	seen := 0
	for _, tree := range []string{"tests/suites", "tests/programs", "tests/helpers"} {
		for _, s := range files(t, tree) {
			own := strings.Join(strings.SplitN(s.dir+"/", "/", 4)[:3], "/")
			for _, p := range s.imports {
				ours, ok := strings.CutPrefix(p, module)
				if !ok || !strings.HasPrefix(ours, "tests/") {
					continue
				}
				seen++
				if !strings.HasPrefix(ours, "tests/helpers/") && ours != own && !strings.HasPrefix(ours, own+"/") {
					t.Errorf("%s imports %s: it may import its own folder and tests/helpers", s.name, p)
				}
			}
		}
	}
	if seen == 0 {
		t.Error("no suite imports a helper: the test looks in the wrong place")
	}
}

var version = regexp.MustCompile(`20[0-9]{2}-[0-9]{2}-[0-9]{2}`)

func TestVersionLiteralsOnlyInRevision(t *testing.T) {
	for _, s := range sources(t, "edge") {
		if s.dir == "edge/revision" {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && version.MatchString(lit.Value) {
				t.Errorf("%s: literal %s: only edge/revision knows versions", s.name, lit.Value)
			}
			return true
		})
	}
}
