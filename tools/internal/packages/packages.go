// Package packages knows the packages of a module: what each is built of, which of them a change reaches, and in which of them goroutines meet.
// It serves the programs that choose what is tested, and how.
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
	// Dir is its folder, an absolute path.
	Dir string
	// GoFiles, TestGoFiles and XTestGoFiles are its files for this system, names in Dir: its own, those of its tests, and those of the tests
	// in package …_test.
	GoFiles, CgoFiles, TestGoFiles, XTestGoFiles []string
	// Imports, TestImports and XTestImports are what these files import.
	Imports, TestImports, XTestImports []string
}

// HasTests says whether it has tests.
func (p *Package) HasTests() bool { return len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 }

// Module is the packages of a module. It is not changed after Load.
type Module struct {
	// Root is the module's folder, an absolute path.
	Root   string
	byPath map[string]*Package
}

// Load asks "go list" for the packages of the module in a folder.
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

// New is the module of these packages.
func New(root string, all []*Package) *Module {
	m := &Module{Root: root, byPath: map[string]*Package{}}
	for _, p := range all {
		m.byPath[p.ImportPath] = p
	}
	return m
}

// All are the packages, sorted by import path.
func (m *Module) All() iter.Seq[*Package] {
	return func(yield func(*Package) bool) {
		for _, path := range slices.Sorted(maps.Keys(m.byPath)) {
			if !yield(m.byPath[path]) {
				return
			}
		}
	}
}

// Paths are the import paths of the packages that want returns true for, sorted.
func (m *Module) Paths(want func(*Package) bool) []string {
	var paths []string
	for p := range m.All() {
		if want(p) {
			paths = append(paths, p.ImportPath)
		}
	}
	return paths
}

// BuiltOf are the packages of the module that the tests of p are built of, p among them, by import path.
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
