package packages

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ofMachine are packages whose functions depend on programs, users and the system of the machine,
// subpackages included.
var ofMachine = []string{"os/exec", "os/user", "syscall", "golang.org/x/sys"}

// ofMachineOS are the functions of package os that depend on the environment or the permissions of
// the process.
var ofMachineOS = []string{
	"Chmod", "Chown", "Chroot", "Environ", "Executable", "ExpandEnv", "FindProcess", "Getegid", "Getenv", "Geteuid", "Getgid", "Getgroups", "Getuid",
	"Hostname", "Lchown", "LookupEnv", "StartProcess", "UserCacheDir", "UserConfigDir", "UserHomeDir",
}

// startingPrograms is the package that builds programs of the module, which requires go only, and
// starts given programs. A test depends on the machine if it names another program.
const startingPrograms = "/helpers/process"

// support reports whether a package serves tests of other packages: it is below a directory named
// helpers, or its name ends with test.
func support(importPath string) bool {
	return strings.Contains(importPath+"/", "/helpers/") || strings.HasSuffix(importPath, "test")
}

// declared identifies a top-level declaration by its name. Methods of the same name in a package
// count as one.
type declared struct {
	path, name string
	method     bool
}

// mentions records which names the declarations of packages mention. Names are not resolved, so it
// may contain more than a declaration uses.
type mentions struct {
	of map[declared]map[declared]bool
	// methods are the names of the methods of a type.
	methods map[declared][]string
	// selected are the names that follow a dot in a package.
	selected map[declared]bool
	// needs are the declarations that mention something of the machine.
	needs map[declared]bool
}

// OnMachine returns the tests, by import path, whose result may differ on another machine: those
// that use programs, users, permissions, the environment or system calls, also through declarations
// of their package and of packages for tests. A test that does so only through another package is
// not included, because that package has its own tests. Names are not resolved, so the result may
// include tests that do not depend on the machine.
func (m *Module) OnMachine() (map[string][]string, error) {
	all := &mentions{of: map[declared]map[declared]bool{}, methods: map[declared][]string{}, selected: map[declared]bool{}, needs: map[declared]bool{}}
	tests := map[string][]string{}
	for p := range m.All() {
		if !p.HasTests() && !support(p.ImportPath) {
			continue
		}
		own := slices.Concat(p.TestGoFiles, p.XTestGoFiles)
		for _, name := range slices.Concat(p.GoFiles, p.CgoFiles, own) {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			all.add(p.ImportPath, file)
			if slices.Contains(own, name) {
				tests[p.ImportPath] = append(tests[p.ImportPath], testsOf(file)...)
			}
		}
	}
	reach := all.reach()
	for importPath, names := range tests {
		if reach[declared{path: importPath, name: "init"}] || reach[declared{path: importPath, name: "TestMain"}] {
			continue // all of them
		}
		names = slices.DeleteFunc(names, func(name string) bool { return !reach[declared{path: importPath, name: name}] })
		if tests[importPath] = names; len(names) == 0 {
			delete(tests, importPath)
		}
	}
	return tests, nil
}

// testsOf returns the test functions of a file.
func testsOf(file *ast.File) []string {
	var names []string
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Recv != nil || f.Name.Name == "TestMain" {
			continue
		}
		for _, kind := range []string{"Test", "Fuzz", "Example"} {
			if strings.HasPrefix(f.Name.Name, kind) {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}

// add records the declarations of a file.
func (a *mentions) add(importPath string, file *ast.File) {
	imports := map[string]string{}
	for _, spec := range file.Imports {
		name, _ := strconv.Unquote(spec.Path.Value)
		short := path.Base(name)
		if spec.Name != nil {
			short = spec.Name.Name
		}
		imports[short] = name
	}
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			from := declared{path: importPath, name: decl.Name.Name, method: decl.Recv != nil}
			if decl.Recv != nil {
				t := declared{path: importPath, name: receiver(decl.Recv.List[0].Type)}
				a.methods[t] = append(a.methods[t], decl.Name.Name)
			}
			a.read(from, decl, imports)
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					a.read(declared{path: importPath, name: spec.Name.Name}, spec, imports)
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						if name.Name != "_" {
							a.read(declared{path: importPath, name: name.Name}, spec, imports)
						}
					}
				}
			}
		}
	}
}

// receiver returns the name of a method's receiver type.
func receiver(e ast.Expr) string {
	name := ""
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return name == ""
	})
	return name
}

// read records the names that a declaration mentions.
func (a *mentions) read(from declared, n ast.Node, imports map[string]string) {
	if a.of[from] == nil {
		a.of[from] = map[declared]bool{}
	}
	var visit func(ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			if inRedis(n.Cond) {
				if n.Else != nil {
					ast.Inspect(n.Else, visit)
				}
				return false
			}
		case *ast.CallExpr:
			if ownVariable(n, imports) {
				return false
			}
			a.needs[from] = a.needs[from] || startsByName(n, imports)
		case *ast.Ident:
			a.of[from][declared{path: from.path, name: n.Name}] = true
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && imports[x.Name] != "" {
				a.needs[from] = a.needs[from] || !strings.HasSuffix(from.path, startingPrograms) && needsMachine(imports[x.Name], n.Sel.Name)
				if used := imports[x.Name]; used == from.path || support(used) {
					a.of[from][declared{path: used, name: n.Sel.Name}] = true
				}
				return false
			}
			method := declared{path: from.path, name: n.Sel.Name, method: true}
			a.of[from][method], a.selected[method] = true, true
			ast.Inspect(n.X, visit)
			return false
		}
		return true
	}
	ast.Inspect(n, visit)
}

// inRedis reports whether a condition calls InRedis, the flag -redis: its branch does not run on a
// machine without a server.
func inRedis(cond ast.Expr) bool {
	call, ok := cond.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "InRedis"
}

// ownVariable reports whether a call reads an environment variable that only this project uses, and
// that no machine sets.
func ownVariable(call *ast.CallExpr, imports map[string]string) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) != 1 || sel.Sel.Name != "Getenv" && sel.Sel.Name != "LookupEnv" {
		return false
	}
	x, isName := sel.X.(*ast.Ident)
	name, isLiteral := call.Args[0].(*ast.BasicLit)
	return isName && imports[x.Name] == "os" && isLiteral && strings.HasPrefix(name.Value, `"MCP`)
}

// startsByName reports whether a call starts a program that it names: process.Start("its name", "program", …).
func startsByName(call *ast.CallExpr, imports map[string]string) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) < 2 || sel.Sel.Name != "Start" {
		return false
	}
	x, isName := sel.X.(*ast.Ident)
	_, isLiteral := call.Args[1].(*ast.BasicLit)
	return isName && isLiteral && strings.HasSuffix(imports[x.Name], startingPrograms)
}

// needsMachine reports whether a name of a package depends on the machine.
func needsMachine(importPath, name string) bool {
	switch {
	case importPath == "os":
		return slices.Contains(ofMachineOS, name)
	case importPath == "syscall":
		return !strings.HasPrefix(name, "E") && !strings.HasPrefix(name, "SIG") && name != "Signal" // errors and signals: names of numbers
	}
	return below(importPath, ofMachine)
}

// reach returns the declarations that need the machine, directly or through others. A declaration
// that mentions a type counts as using those of its methods that no selector names, because other
// packages may call them.
func (a *mentions) reach() map[declared]bool {
	by := map[declared][]declared{}
	for from, mentioned := range a.of {
		for to := range mentioned {
			by[to] = append(by[to], from)
		}
	}
	for t, names := range a.methods {
		for _, name := range names {
			if method := (declared{path: t.path, name: name, method: true}); !a.selected[method] {
				by[method] = append(by[method], t)
			}
		}
	}
	reached := maps.Clone(a.needs)
	maps.DeleteFunc(reached, func(_ declared, needs bool) bool { return !needs })
	for left := slices.Collect(maps.Keys(reached)); len(left) > 0; {
		d := left[len(left)-1]
		left = left[:len(left)-1]
		for _, from := range by[d] {
			if !reached[from] {
				reached[from] = true
				left = append(left, from)
			}
		}
	}
	return reached
}
