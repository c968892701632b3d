package packages

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Racing reports whether the race detector may find something in the tests of p: p or its tests
// start a goroutine, or import a package that starts goroutines for its users. A package that only
// calls others which start goroutines does not count: the tests of those packages, and of the
// complete edge, run with the detector.
func (m *Module) Racing(p *Package) (bool, error) {
	return anyFile(p, func(path string) (bool, error) {
		imports, err := importsStarting(path)
		if imports || err != nil {
			return imports, err
		}
		return inspect(path, starts)
	})
}

// anyFile reports whether ask returns true for a file of p or of its tests. It passes the path of
// the file.
func anyFile(p *Package, ask func(path string) (bool, error)) (bool, error) {
	for _, name := range slices.Concat(p.GoFiles, p.CgoFiles, p.TestGoFiles, p.XTestGoFiles) {
		if found, err := ask(filepath.Join(p.Dir, name)); found || err != nil {
			return found, err
		}
	}
	return false, nil
}

// inspect reports whether wanted returns true for a node of a file.
func inspect(path string, wanted func(ast.Node) bool) (bool, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return false, err
	}
	found := false
	ast.Inspect(file, func(n ast.Node) bool {
		found = found || n != nil && wanted(n)
		return !found
	})
	return found, nil
}

// starting are packages that start goroutines for their users, or are useful to several goroutines
// only, subpackages included.
var starting = []string{
	"net", "os/exec", "os/signal", "sync", "testing/synctest", "google.golang.org/grpc", "github.com/redis/go-redis", "github.com/fsnotify/fsnotify",
	"golang.org/x/sync", "go.opentelemetry.io/otel/sdk", "github.com/modelcontextprotocol/go-sdk",
}

// harmless are subpackages of starting that start none.
var harmless = []string{"net/netip", "net/url", "net/textproto", "google.golang.org/grpc/codes", "google.golang.org/grpc/metadata", "google.golang.org/grpc/status"}

// starters are functions and methods that run their argument in another goroutine.
var starters = []string{"Go", "AfterFunc", "Parallel", "RunParallel"}

// starts reports whether a node is a go statement or a call of a starter.
func starts(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		return true
	case *ast.CallExpr:
		sel, ok := n.Fun.(*ast.SelectorExpr)
		return ok && slices.Contains(starters, sel.Sel.Name)
	}
	return false
}

// importsStarting reports whether a file imports a package that starts goroutines.
func importsStarting(path string) (bool, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		return false, err
	}
	for _, spec := range file.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return false, err
		}
		if below(name, starting) && !below(name, harmless) {
			return true, nil
		}
	}
	return false, nil
}

// below reports whether an import path is one of paths, or below one.
func below(name string, paths []string) bool {
	return slices.ContainsFunc(paths, func(p string) bool { return name == p || strings.HasPrefix(name, p+"/") })
}

// Unraced returns the tests of p in files that the race detector excludes ("//go:build !race"):
// they compute for long in one goroutine, or measure what the detector changes.
func Unraced(p *Package) ([]string, error) {
	var names []string
	for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if !excludesRace(file) {
			continue
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names, nil
}

// excludesRace reports whether the build constraint of a file excludes the race detector.
func excludesRace(file *ast.File) bool {
	for _, group := range file.Comments {
		if group.Pos() > file.Package {
			return false
		}
		for _, c := range group.List {
			if c.Text == "//go:build !race" {
				return true
			}
		}
	}
	return false
}
