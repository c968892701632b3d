package imports

import (
	"go/ast"
	"path"
	"slices"
	"testing"
)

// generic are the types of others that no struct may have as a field or embed. Every package that uses such a struct compiles the generic code
// and the promoted methods of the type again: a field of *metric.MeterProvider in edge/telemetry added 1.8 s to each of the 23 packages that
// import it. Use an interface with the methods that are called.
var generic = map[string][]string{
	"go.opentelemetry.io/otel/sdk/metric": {"MeterProvider", "ManualReader", "PeriodicReader"},
}

// promoting are the types that a struct may have as a field and not embed.
var promoting = map[string][]string{
	"github.com/redis/go-redis/v9": {"Cmdable", "UniversalClient", "Client", "ClusterClient"},
}

// exposing are the types of the edge, and functions that return them, whose fields lead to the clients of a library. A package that uses one compiles
// the promoted methods of these clients again: a *redis.Replica in edge/app took two of its six seconds, and nine of its twenty megabytes.
// Tests may use them.
var exposing = map[string][]string{
	"github.com/mcpedge/mcpedge/edge/state/redis": {"AnnouncedTable", "New", "Once", "Relay", "Replica", "Table"},
}

func TestTypesOfClientsAreNotUsedElsewhere(t *testing.T) {
	for _, s := range sources(t, "edge") {
		names := map[string]string{} // packages by the name that the file gives them
		for i, spec := range s.file.Imports {
			if names[path.Base(s.imports[i])] = s.imports[i]; spec.Name != nil {
				names[spec.Name.Name] = s.imports[i]
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if pkg, ok := sel.X.(*ast.Ident); ok && slices.Contains(exposing[names[pkg.Name]], sel.Sel.Name) {
					t.Errorf("%s: %s.%s is used outside of its package: use redis.Open, whose result has interfaces", s.name, pkg.Name, sel.Sel.Name)
				}
			}
			return true
		})
	}
}

func TestFieldsDoNotCompileOthersAgain(t *testing.T) {
	for _, s := range sources(t, "edge") {
		names := map[string]string{} // packages by the name that the file gives them
		for i, spec := range s.file.Imports {
			switch {
			case spec.Name != nil:
				names[spec.Name.Name] = s.imports[i]
			case s.imports[i] == "github.com/redis/go-redis/v9":
				names["redis"] = s.imports[i]
			default:
				names[path.Base(s.imports[i])] = s.imports[i]
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			fields, ok := n.(*ast.StructType)
			if !ok {
				return true
			}
			for _, f := range fields.Fields.List {
				of := f.Type
				if star, ok := of.(*ast.StarExpr); ok {
					of = star.X
				}
				sel, ok := of.(*ast.SelectorExpr)
				if !ok {
					continue
				}
				pkg, ok := sel.X.(*ast.Ident)
				if !ok {
					continue
				}
				library := names[pkg.Name]
				if slices.Contains(generic[library], sel.Sel.Name) || len(f.Names) == 0 && slices.Contains(promoting[library], sel.Sel.Name) {
					t.Errorf("%s: a struct has a field of %s.%s: each package that uses the struct compiles that type's code again", s.name, library, sel.Sel.Name)
				}
			}
			return true
		})
	}
}
