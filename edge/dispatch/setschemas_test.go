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
			before := d.catalog.Describe(t.Context(), rules(t, modern), "s", mcp.Principal{}).Digest()
			other := overlay.SchemasPortable
			if !shows {
				other = overlay.SchemasFull
			}
			d.catalog.Replace(nil, inForm(other, false), func() {}, false)
			if after := d.catalog.Describe(t.Context(), rules(t, modern), "s", mcp.Principal{}).Digest(); after.Tools == before.Tools || after.Prompts != before.Prompts {
				t.Errorf("%s: in another form the digests are %v, before %v", name, after, before)
			}
			d.catalog.Replace(nil, inForm(schemas, true), func() {}, false)
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

// TestSchemasChangeLists: a change of the form of a set changes the lists of its subscribers, and of no others.
func TestSchemasChangeLists(t *testing.T) {
	f := &fake{
		name: "one", services: "tp", tools: []*pb.Tool{{Name: "seek", InputSchemaJson: seekSchema}}, prompts: []*pb.Prompt{{Name: "greet"}},
	}
	hidden := overlay.New(overlay.Entries{Prompts: []overlay.Entry{{Backend: "one", Names: pattern.New("greet"), Hide: true}}})
	for _, schemas := range []overlay.Schemas{overlay.SchemasPortable, overlay.SchemasFull} {
		other := overlay.SchemasFull
		if schemas == overlay.SchemasFull {
			other = overlay.SchemasPortable
		}
		d := start(t, Options{Catalog: catalog.Options{Jitter: -1, Sets: inForm(schemas, false)}}, f)
		feeds := map[string]mcp.Feed{}
		for _, set := range []string{"s", ""} {
			feed, err := d.Changes(t.Context(), set, mcp.Principal{}, mcp.Filter{Tools: true, Prompts: true, Resources: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(feed.Close)
			feeds[set] = feed
		}
		d.catalog.Replace(nil, inForm(other, false), func() {}, false)
		changes, err := feeds["s"].Next(t.Context(), 0)
		if err != nil || len(changes) != 1 || changes[0].Kind != mcp.ToolsChanged {
			t.Errorf("%s: the subscriber of the set was sent %v, %v", schemas, changes, err)
		}
		d.catalog.Replace(hidden, inForm(other, false), func() {}, false)
		changes, err = feeds[""].Next(t.Context(), 0)
		if err != nil || len(changes) != 1 || changes[0].Kind != mcp.PromptsChanged {
			t.Errorf("%s: the subscriber of the root was sent %v, %v", schemas, changes, err)
		}
	}
}

// TestDigestsOfForms: the digests of the root and of a set in another form do not depend on which is made first.
func TestDigestsOfForms(t *testing.T) {
	var got [2][2]mcp.Digest
	for i, first := range []string{"s", ""} {
		f := &fake{name: "one", tools: []*pb.Tool{{Name: "seek", InputSchemaJson: seekSchema}}}
		d := start(t, Options{Catalog: catalog.Options{Jitter: -1, Sets: inForm(overlay.SchemasFull, false)}}, f)
		digest := func(set string) mcp.Digest {
			return d.catalog.Describe(t.Context(), rules(t, modern), set, mcp.Principal{}).Digest()
		}
		digest(first)
		got[i] = [2]mcp.Digest{digest("s"), digest("")}
	}
	if got[0] != got[1] || got[0][0].Tools == got[0][1].Tools {
		t.Errorf("with the set first they are %v, with the root first %v", got[0], got[1])
	}
}
