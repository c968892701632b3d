package docs

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/transport/streamable"
	"github.com/mcpedge/mcpedge/tests/helpers/generated"
)

var update = flag.Bool("update", false, "write the tables of rules and errors in docs/revisions.md")

// TestRules holds the tables of what a revision can carry, and of its errors, against the rules.
func TestRules(t *testing.T) {
	for part, table := range map[string]string{"rules": rulesTable(t), "errors": errorsTable(t)} {
		generated.Compare(t, root+"/docs/revisions.md", part, table, "go test ./tests/suites/docs -update", *update)
	}
}

// versionColumns begins a table with a column per revision.
func versionColumns(first string, rest ...string) string {
	var cells []string
	for _, r := range revision.All() {
		cells = append(cells, r.Version)
	}
	cells = append(cells, rest...)
	return "| " + first + " | " + strings.Join(cells, " | ") + " |\n|---|---" + strings.Repeat("|:-:", len(cells)) + "|\n"
}

// rulesTable has a row per flag of revision.Rules, with its own documentation.
func rulesTable(t *testing.T) string {
	docs := fieldDocs(t, root+"/edge/revision/rules.go", "Rules")
	var b strings.Builder
	b.WriteString(versionColumns("flag | what the revision has"))
	kind := reflect.TypeFor[revision.Rules]()
	for i := range kind.NumField() {
		f := kind.Field(i)
		if f.Type.Kind() != reflect.Bool {
			continue
		}
		if docs[f.Name] == "" {
			t.Errorf("%s has no documentation", f.Name)
		}
		fmt.Fprintf(&b, "| `%s` | %s |", f.Name, meaning(docs[f.Name], f.Name))
		for _, r := range revision.All() {
			mark := "–"
			if reflect.ValueOf(r).Elem().Field(i).Bool() {
				mark = "✓"
			}
			b.WriteString(" " + mark + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// meaning is a comment without the name it begins with, as the cell of a table.
func meaning(doc string, names ...string) string {
	doc = strings.Join(strings.Fields(doc), " ")
	for _, prefix := range []string{strings.Join(names, " and "), names[0]} {
		if rest, ok := strings.CutPrefix(doc, prefix+":"); ok {
			doc = strings.TrimSpace(rest)
			break
		}
	}
	return strings.ReplaceAll(strings.TrimSuffix(doc, "."), "|", "\\|")
}

// errorsTable has a row per kind of error.
func errorsTable(t *testing.T) string {
	var b strings.Builder
	b.WriteString(versionColumns("kind | when", "HTTP, with sessions", "HTTP, without"))
	for i, k := range kinds(t) {
		kind := mcp.Kind(i)
		if kind == mcp.KindNone {
			continue
		}
		fmt.Fprintf(&b, "| %s | %s |", strings.TrimPrefix(k.name, "Kind"), k.doc)
		for _, r := range revision.All() {
			fmt.Fprintf(&b, " %s |", strings.ReplaceAll(fmt.Sprint(r.Code(kind)), "-", "−"))
		}
		fmt.Fprintf(&b, " %d | %d |\n", streamable.Status(false, kind), streamable.Status(true, kind))
	}
	return b.String()
}

type kindDoc struct{ name, doc string }

// kinds are the constants of mcp.Kind in their order, with what is said of each; a comment over several
// is said of all of them.
func kinds(t *testing.T) []kindDoc {
	var out []kindDoc
	for _, d := range parse(t, root+"/edge/mcp/error.go").Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		doc, first := "", ""
		for i, s := range group.Specs {
			spec, _ := s.(*ast.ValueSpec)
			name := spec.Names[0].Name
			if spec.Doc != nil {
				doc, first = spec.Doc.Text(), name
				if next := i + 1; next < len(group.Specs) {
					if v, _ := group.Specs[next].(*ast.ValueSpec); v.Doc == nil {
						first += " and " + v.Names[0].Name
					}
				}
			}
			out = append(out, kindDoc{name, meaning(doc, first)})
		}
	}
	if len(out) <= int(mcp.KindInternal) {
		t.Fatalf("%d kinds found, the last is number %d", len(out), mcp.KindInternal)
	}
	return out
}

// fieldDocs are the comments of a struct's fields.
func fieldDocs(t *testing.T, file, name string) map[string]string {
	out := map[string]string{}
	ast.Inspect(parse(t, file), func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name != name {
			return true
		}
		fields, _ := spec.Type.(*ast.StructType)
		for _, f := range fields.Fields.List {
			for _, id := range f.Names {
				out[id.Name] = f.Doc.Text()
			}
		}
		return false
	})
	return out
}

func parse(t *testing.T, file string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestRulesAreRead: a flag that nothing reads would say of the edge what it does not do.
func TestRulesAreRead(t *testing.T) {
	read := map[string]bool{}
	err := filepath.WalkDir(root+"/edge", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		ast.Inspect(parse(t, path), func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				read[s.Sel.Name] = true
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	kind := reflect.TypeFor[revision.Rules]()
	for i := range kind.NumField() {
		if f := kind.Field(i); f.IsExported() && !read[f.Name] {
			t.Errorf("Rules.%s is read nowhere", f.Name)
		}
	}
}
