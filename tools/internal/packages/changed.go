package packages

import (
	"go/ast"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Change describes which packages of a module changed files affect.
type Change struct {
	// all means that any package may be affected, readers that packages which read files of no
	// package may be.
	all, readers bool
	// itself has the packages with changed files, spreads those of them whose changed files other
	// packages are built of.
	itself, spreads map[string]bool
}

// Changed returns the effect of changed files, given as slash-separated paths from the module's
// root. A file belongs to the package of the nearest directory above it, as files in testdata do.
// All packages depend on go.mod and go.sum. Any other file that belongs to no package, such as a
// page of the documentation, affects the packages that name a path above their own directory.
func (m *Module) Changed(files []string) *Change {
	c := &Change{itself: map[string]bool{}, spreads: map[string]bool{}}
	dirs := map[string]string{}
	for name, p := range m.byPath {
		if rel, err := filepath.Rel(m.Root, p.Dir); err == nil {
			dirs[filepath.ToSlash(rel)] = name
		}
	}
	for _, file := range files {
		name, test := owner(dirs, file)
		switch {
		case file == "go.mod" || file == "go.sum":
			c.all = true
		case name == "":
			c.readers = true
		case test:
			c.itself[name] = true
		default:
			c.itself[name], c.spreads[name] = true, true
		}
	}
	return c
}

// owner returns the package that a file belongs to, empty if there is none. test is true if the
// file belongs to its tests only.
func owner(dirs map[string]string, file string) (name string, test bool) {
	test = strings.HasSuffix(file, "_test.go")
	for dir := file; ; {
		i := strings.LastIndexByte(dir, '/')
		if i < 0 {
			return "", false
		}
		base := dir[i+1:]
		dir = dir[:i]
		test = test || base == "testdata"
		if name, ok := dirs[dir]; ok {
			return name, test
		}
	}
}

// Itself reports whether files of the package changed.
func (c *Change) Itself(p *Package) bool { return c.itself[p.ImportPath] }

// Affects reports whether the change may affect the results of the tests of p.
func (m *Module) Affects(c *Change, p *Package) (bool, error) {
	if c.all || c.itself[p.ImportPath] {
		return true, nil
	}
	for name := range m.BuiltOf(p) {
		if c.spreads[name] {
			return true, nil
		}
	}
	if !c.readers {
		return false, nil
	}
	return anyFile(p, func(path string) (bool, error) { return inspect(path, namesAbove) })
}

// namesAbove reports whether a node is a string literal with a path above the file's directory.
func namesAbove(n ast.Node) bool {
	lit, ok := n.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return false
	}
	text, err := strconv.Unquote(lit.Value)
	return err == nil && (text == ".." || strings.HasPrefix(text, "../"))
}

// EndToEnd reports whether the tests of p are built of one of whole, the packages that stand for a
// complete program, and p itself is none of them.
func (m *Module) EndToEnd(p *Package, whole []string) bool {
	built := m.BuiltOf(p)
	return !slices.Contains(whole, p.ImportPath) && slices.ContainsFunc(whole, func(path string) bool { return built[path] })
}

// TestFiles returns those of files, slash-separated paths from the module's root, that contain
// tests of p.
func (m *Module) TestFiles(p *Package, files []string) []string {
	var found []string
	for _, file := range files {
		dir, name := path.Split(file)
		if m.Root+"/"+strings.TrimSuffix(dir, "/") == filepath.ToSlash(p.Dir) && slices.Contains(slices.Concat(p.TestGoFiles, p.XTestGoFiles), name) {
			found = append(found, file)
		}
	}
	return found
}
