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

// Racing says whether goroutines meet in the tests of p, which is what the race detector is for: whether p or its tests start one, or import a
// package that starts them for its users. A package that only calls others which start some is run without the detector: theirs are watched in
// their own tests, and in those of the whole edge.
func (m *Module) Racing(p *Package) (bool, error) {
	return anyFile(p, func(path string) (bool, error) {
		imports, err := importsStarting(path)
		if imports || err != nil {
			return imports, err
		}
		return inspect(path, starts)
	})
}

// anyFile says whether what is asked holds for a file of p or its tests, whose path is given.
func anyFile(p *Package, ask func(path string) (bool, error)) (bool, error) {
	for _, name := range slices.Concat(p.GoFiles, p.CgoFiles, p.TestGoFiles, p.XTestGoFiles) {
		if found, err := ask(filepath.Join(p.Dir, name)); found || err != nil {
			return found, err
		}
	}
	return false, nil
}

// inspect says whether a node of a file is what is looked for.
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

// starting are packages that start goroutines for their users, or are of use to several goroutines only; what is below them counts as well.
var starting = []string{
	"net", "os/exec", "os/signal", "sync", "testing/synctest", "google.golang.org/grpc", "github.com/redis/go-redis", "github.com/fsnotify/fsnotify",
	"golang.org/x/sync", "go.opentelemetry.io/otel/sdk", "github.com/modelcontextprotocol/go-sdk",
}

// harmless are those below them that start none.
var harmless = []string{"net/netip", "net/url", "net/textproto", "google.golang.org/grpc/codes", "google.golang.org/grpc/metadata", "google.golang.org/grpc/status"}

// starters are names of functions and methods that run what they are given in another goroutine.
var starters = []string{"Go", "AfterFunc", "Parallel", "RunParallel"}

// starts says whether a node is a go statement or calls a starter.
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

// importsStarting says whether a file imports a package that starts goroutines.
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

// below says whether an import path is one of these, or below one.
func below(name string, paths []string) bool {
	return slices.ContainsFunc(paths, func(p string) bool { return name == p || strings.HasPrefix(name, p+"/") })
}

// Unraced are the tests of p that stand in files which the race detector excludes ("//go:build !race"): they compute for long in one goroutine,
// or measure what the detector changes.
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

// excludesRace says whether the constraint of a file is that it is built without the race detector.
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
