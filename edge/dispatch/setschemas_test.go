package dispatch

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/catalog"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/mcp"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/internal/pattern"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// inForm is a set with everything in a form, with or without search.
func inForm(schemas overlay.Schemas, search bool) overlay.Sets {
	return overlay.Sets{"s": {Name: "s", Schemas: schemas, Search: search, Include: overlay.Selection{Backends: pattern.NewList([]string{"**"})}}}
}

// TestSchemasOfSets: a set shows the schemas of its tools in its own form, in lists and searches, whatever that of a backend is; the root does not
// change, and calls are validated by the full schema.
func TestSchemasOfSets(t *testing.T) {
	tools := []*pb.Tool{{Name: "seek", Description: "Seeks.", InputSchemaJson: seekSchema}, {Name: "also", Description: "Also.", InputSchemaJson: seekSchema}}
	for _, full := range []bool{false, true} {
		for schemas, shows := range map[overlay.Schemas]bool{"": full, overlay.SchemasFull: true, overlay.SchemasAuto: true, overlay.SchemasPortable: false} {
			name := fmt.Sprintf("%q of %t", schemas, full)
			f := &fake{name: "one", full: full, tools: tools}
			d := start(t, Options{Catalog: catalog.Options{Jitter: -1, Sets: inForm(schemas, false)}}, f)
			want, says := seekShown, `"description":"Seeks.\nArguments: Give exactly one of id, name."`
			if shows {
				want, says = seekSchema, `"description":"Seeks."`
			}
			for _, version := range []string{legacy, modern} {
				names, raw := namesInSet(t, d, version, mcp.Principal{})
				if !slices.Equal(names, []string{"seek", "also"}) || strings.Count(raw, want) != 2 || !strings.Contains(raw, says) {
					t.Errorf("%s: %s: %s", name, version, raw)
				}
				root, err := d.Call(t.Context(), rules(t, version), request(t, mcp.MethodToolsList, `{}`), nil)
				if err != nil || strings.Contains(string(root.Result), seekSchema) != full {
					t.Errorf("%s: %s: at the root: %s, %v", name, version, root.Result, err)
				}
				for arguments, reached := range map[string]bool{`{"id":7}`: true, `{"id":7,"name":"xy"}`: false, `{"name":"x"}`: false} {
					call := in(t, "s", mcp.MethodToolsCall, `{"name":"seek","arguments":`+arguments+`}`)
					if reply, err := d.Call(t.Context(), rules(t, version), call, nil); err != nil || reply.ToolError == reached {
						t.Errorf("%s: %s: %s: %s, %v", name, version, arguments, reply.Result, err)
					}
				}
			}
			before := d.Describe(t.Context(), rules(t, modern), "s", mcp.Principal{}).Digest()
			other := overlay.SchemasPortable
			if !shows {
				other = overlay.SchemasFull
			}
			d.catalog.Exchange(nil, inForm(other, false), func() {}, false)
			if after := d.Describe(t.Context(), rules(t, modern), "s", mcp.Principal{}).Digest(); after.Tools == before.Tools || after.Prompts != before.Prompts {
				t.Errorf("%s: in another form the digests are %v, before %v", name, after, before)
			}
			d.catalog.Exchange(nil, inForm(schemas, true), func() {}, false)
			if _, raw := found(t, d, modern, mcp.Principal{}, `{"query":"seeks"}`); !strings.Contains(raw, `"inputSchema":`+want) {
				t.Errorf("%s: found %s", name, raw)
			}
		}
	}
}

// TestSchemasOfSetsStay: a page of a list continues in the same form, and the lists of a caller with own rights are in it.
func TestSchemasOfSetsStay(t *testing.T) {
	f := &fake{name: "one", full: true, tools: []*pb.Tool{{Name: "a", InputSchemaJson: seekSchema}, {Name: "b", InputSchemaJson: seekSchema}, {Name: "c", InputSchemaJson: seekSchema}}}
	d := start(t, Options{Catalog: catalog.Options{Jitter: -1, PageSize: 1, Sets: inForm(overlay.SchemasPortable, false)}}, f)
	if names, raw := namesInSet(t, d, modern, mcp.Principal{}); !slices.Equal(names, []string{"a", "b", "c"}) || strings.Count(raw, seekShown) != 3 {
		t.Errorf("%v: %s", names, raw)
	}
	before := d.catalog.Shared().Tools
	f.change(func() { f.tools = append(f.tools, &pb.Tool{Name: "d", InputSchemaJson: seekSchema}) })
	await.Until(t, "the change", func() bool { return d.catalog.Shared().Tools != before })
	if names, raw := namesInSet(t, d, modern, mcp.Principal{}); len(names) != 4 || strings.Count(raw, seekShown) != 4 {
		t.Errorf("%v: %s", names, raw)
	}
}

// TestSchemasOfSetsAreBounded: the work on the portable schemas of a set is bounded as at the root, and the log says what is not shown.
func TestSchemasOfSetsAreBounded(t *testing.T) {
	var many []*pb.Tool
	for i := range 50 {
		many = append(many, &pb.Tool{Name: fmt.Sprintf("t%d", i), InputSchemaJson: seekSchema})
	}
	d := start(t, Options{Catalog: catalog.Options{Jitter: -1, SchemaWork: 2000, Sets: inForm(overlay.SchemasPortable, false)}}, &fake{name: "one", full: true, tools: many})
	_, raw := namesInSet(t, d, modern, mcp.Principal{})
	if shown := strings.Count(raw, seekShown); shown == 0 || shown > 40 || strings.Count(raw, "is not shown, because") != 50-shown {
		t.Errorf("%d schemas are shown: %s", shown, raw)
	}
}
