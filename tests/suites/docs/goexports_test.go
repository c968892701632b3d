package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// goFolders are the packages of the Go library that a program imports.
var goFolders = []string{"capability", "capability/capabilitytest", "capability/hook"}

// goSources are the files of these packages, by a name that begins with the package.
func goSources(t *testing.T) map[string]string {
	sources := map[string]string{}
	for _, folder := range goFolders {
		files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files in %s: %v", folder, err)
		}
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				sources[folder+" "+filepath.Base(file)] = filepath.ToSlash(filepath.Join(folder, filepath.Base(file)))
			}
		}
	}
	return sources
}

// The exported names of the Go library, with methods and fields of its own types, are lines of a file.
func TestGoExports(t *testing.T) {
	const list = "capability/exports.txt"
	var lines []string
	for name, source := range goSources(t) {
		folder, _, _ := strings.Cut(name, " ")
		names, err := goNames(read(t, source))
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		for _, n := range names {
			lines = append(lines, folder+" "+n)
		}
	}
	slices.Sort(lines)
	got := strings.Join(lines, "\n") + "\n"
	if *update {
		if err := os.WriteFile(filepath.Join(root, list), []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want := read(t, list); got != want {
		t.Errorf("%s is not what the library exports; read the difference, and write it by `go test ./tests/suites/docs -run TestGoExports -update`:\n%s",
			list, difference(want, got))
	}
}

// goNames are the exported names of a file, those of methods and fields after that of their type.
func goNames(source string) ([]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "source.go", source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var names []string
	add := func(of string, ids ...*ast.Ident) {
		for _, id := range ids {
			if id.IsExported() && (of == "" || ast.IsExported(of)) {
				names = append(names, strings.TrimPrefix(of+"."+id.Name, "."))
			}
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			add(receiver(d), d.Name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					add("", spec.Names...)
				case *ast.TypeSpec:
					add("", spec.Name)
					for _, f := range membersOf(spec.Type) {
						add(spec.Name.Name, f.Names...)
					}
				}
			}
		}
	}
	return names, nil
}

// receiver is the type of a method; empty for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	t := d.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if generic, ok := t.(*ast.IndexExpr); ok {
		t = generic.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

func membersOf(t ast.Expr) []*ast.Field {
	switch t := t.(type) {
	case *ast.StructType:
		return t.Fields.List
	case *ast.InterfaceType:
		return t.Methods.List
	}
	return nil
}

func TestGoNames(t *testing.T) {
	got, err := goNames(`package p
const A, b = 1, 2
var C int
type D struct { E, f int; G string }
type h struct { I int }
type J interface { K(); l() }
type M = int
func N() {}
func o() {}
func (D) P() {}
func (q *Q[T]) R() {}
func (*h) S() {}
`)
	if want := []string{"A", "C", "D", "D.E", "D.G", "J", "J.K", "M", "N", "D.P", "Q.R"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	if got, err := goNames("type"); err == nil {
		t.Errorf("%q, want an error", got)
	}
}
