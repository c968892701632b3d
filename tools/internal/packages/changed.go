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

// Change is what changed files mean for the packages of a module.
type Change struct {
	// all: any package may be affected; readers: those that read files of no package.
	all, readers bool
	// itself: files of the package changed. spreads: among them files that other packages are built of.
	itself, spreads map[string]bool
}

// Changed finds the packages of changed files, slash-separated paths below the module's root. A file belongs to the package of the nearest
// folder above it, such as what stands in testdata. All packages depend on go.mod and go.sum. Any other file that belongs to none, such as a
// page of the documentation, is of concern to the packages that name a path above their own folder.
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

// owner is the package that a file belongs to; empty: none. test: only its tests do.
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

// Itself says whether files of the package changed.
func (c *Change) Itself(p *Package) bool { return c.itself[p.ImportPath] }

// Affects says whether the tests of p may come out otherwise than before.
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

// namesAbove says whether a node of a file is a path above the file's folder.
func namesAbove(n ast.Node) bool {
	lit, ok := n.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return false
	}
	text, err := strconv.Unquote(lit.Value)
	return err == nil && (text == ".." || strings.HasPrefix(text, "../"))
}

// EndToEnd says whether the tests of p are built of one of the packages that stand for a whole program, and p is none of these.
func (m *Module) EndToEnd(p *Package, whole []string) bool {
	built := m.BuiltOf(p)
	return !slices.Contains(whole, p.ImportPath) && slices.ContainsFunc(whole, func(path string) bool { return built[path] })
}

// TestFiles are those of files, slash-separated paths below the module's root, that hold p's tests.
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
