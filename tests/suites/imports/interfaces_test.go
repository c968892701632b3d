package imports

import (
	"go/ast"
	"path"
	"strconv"
	"strings"
	"testing"
)

// maxMethods bounds the methods of an interface, with those of the interfaces of ours that it embeds.
const maxMethods = 5

// larger are the interfaces with more methods, and why they have them.
var larger = map[string]string{
	"edge/state/medium.Store": "a store is its four parts, each with at most five methods, and all of one medium: what is written by one part is read by another",
}

// An interface has few methods. Those of gRPC, which are generated, and of other libraries do not count.
func TestInterfacesAreSmall(t *testing.T) {
	declared := map[string]*ast.InterfaceType{}
	in := map[string]source{}
	for _, s := range sources(t, "edge") {
		ast.Inspect(s.file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if i, ok := spec.Type.(*ast.InterfaceType); ok {
					name := s.dir + "." + spec.Name.Name
					declared[name], in[name] = i, s
				}
			}
			return true
		})
	}
	if declared["edge/era.Dispatcher"] == nil {
		t.Error("there is no interface edge/era.Dispatcher: the test looks in the wrong place")
	}
	var methods func(name string) int
	methods = func(name string) (n int) {
		if declared[name] == nil {
			return 0
		}
		for _, f := range declared[name].Methods.List {
			if n += len(f.Names); len(f.Names) == 0 {
				n += methods(embedded(in[name], f.Type))
			}
		}
		return n
	}
	for name := range declared {
		n := methods(name)
		switch why := larger[name]; {
		case n > maxMethods && why == "":
			t.Errorf("%s: interface %s has %d methods, more than %d: take the concrete type, or two interfaces", in[name].name, name, n, maxMethods)
		case n <= maxMethods && why != "":
			t.Errorf("%s: interface %s has %d methods: take it out of larger", in[name].name, name, n)
		}
	}
	for name := range larger {
		if declared[name] == nil {
			t.Errorf("there is no interface %s: take it out of larger", name)
		}
	}
}

// embedded returns the name of an embedded interface, after the path of its package. It is empty for a union of types.
func embedded(s source, e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return s.dir + "." + e.Name
	case *ast.SelectorExpr:
		of, ok := e.X.(*ast.Ident)
		for _, spec := range s.file.Imports {
			p, _ := strconv.Unquote(spec.Path.Value)
			if name := path.Base(p); ok && (spec.Name == nil && name == of.Name || spec.Name != nil && spec.Name.Name == of.Name) {
				return strings.TrimPrefix(p, module) + "." + e.Sel.Name
			}
		}
	}
	return ""
}
