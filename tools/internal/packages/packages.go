// Package packages analyses the packages of a module: their dependencies, the packages that a
// change affects, and those in which goroutines share memory. The programs that choose tests use
// it.
package packages

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
)

// Package is a package of the module with its tests, as "go list" describes it.
type Package struct {
	ImportPath string
	// Dir is the absolute path of its directory.
	Dir string
	// GoFiles, CgoFiles, TestGoFiles and XTestGoFiles are the names of its files for this system,
	// in Dir: its own files, those of its tests, and those of tests in package …_test.
	GoFiles, CgoFiles, TestGoFiles, XTestGoFiles []string
	// Imports, TestImports and XTestImports are the imports of these files.
	Imports, TestImports, XTestImports []string
}

// HasTests reports whether the package has test files.
func (p *Package) HasTests() bool { return len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 }

// Module is the set of packages of a module. It is immutable.
type Module struct {
	// Root is the absolute path of the module's directory.
	Root   string
	byPath map[string]*Package
}

// Load calls "go list" for the packages of the module at root.
func Load(root string) (*Module, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,GoFiles,CgoFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = root
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, said.String())
	}
	var all []*Package
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		p := new(Package)
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			return New(root, all), nil
		} else if err != nil {
			return nil, fmt.Errorf("reading what go list printed: %w", err)
		}
		all = append(all, p)
	}
}

// New returns the module with the given packages.
func New(root string, all []*Package) *Module {
	m := &Module{Root: root, byPath: map[string]*Package{}}
	for _, p := range all {
		m.byPath[p.ImportPath] = p
	}
	return m
}

// All returns the packages, sorted by import path.
func (m *Module) All() iter.Seq[*Package] {
	return func(yield func(*Package) bool) {
		for _, path := range slices.Sorted(maps.Keys(m.byPath)) {
			if !yield(m.byPath[path]) {
				return
			}
		}
	}
}

// Paths returns the sorted import paths of the packages for which want returns true.
func (m *Module) Paths(want func(*Package) bool) []string {
	var paths []string
	for p := range m.All() {
		if want(p) {
			paths = append(paths, p.ImportPath)
		}
	}
	return paths
}

// BuiltOf returns the packages of the module that the tests of p are built of, including p, by
// import path.
func (m *Module) BuiltOf(p *Package) map[string]bool {
	seen := map[string]bool{p.ImportPath: true}
	var add func(imports []string)
	add = func(imports []string) {
		for _, path := range imports {
			if q := m.byPath[path]; q != nil && !seen[path] {
				seen[path] = true
				add(q.Imports)
			}
		}
	}
	add(p.Imports)
	add(p.TestImports)
	add(p.XTestImports)
	return seen
}
