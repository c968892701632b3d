package catalog

import (
	"testing"

	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// TestIndexesAreReused: a set with the same tools has the same index, and another one when a tool has changed; callers' own indexes count
// for the weight of their views.
func TestIndexesAreReused(t *testing.T) {
	of := func(all ...*Tool) *toolSet {
		out := &toolSet{ByName: map[string]*Tool{}, List: newList(listTools, nil)}
		for _, one := range all {
			out.ByName[one.ShownName] = one
			out.List.Entries = append(out.List.Entries, &entry{key: one.ShownName})
		}
		return out
	}
	tool := func(name string) *Tool {
		proto := &pb.Tool{Name: name, InputSchemaJson: `{"type":"object"}`}
		return &Tool{Name: name, ShownName: name, Proto: proto, Shown: proto}
	}
	a, b := tool("alpha"), tool("beta")
	var x indexes
	first := x.of("s", of(a, b))
	if x.of("s", of(a, b)) != first {
		t.Error("the same tools have another index")
	}
	if x.of("other", of(a, b)) == first {
		t.Error("two sets share an index")
	}
	for name, tools := range map[string]*toolSet{"a changed tool": of(a, tool("beta")), "another order": of(b, a), "a tool less": of(a)} {
		first := x.of("s", of(a, b))
		if x.of("s", tools) == first {
			t.Errorf("%s: the index is the same", name)
		}
	}
	if found := x.of("s", of(b)).Find("beta", 5, nil); len(found) != 1 {
		t.Errorf("found %v", found)
	}
	v := &View{Tools: of(a, b), sets: &overlay.Sets{"s": {Search: true}, "t": {Search: true}, "u": {}}}
	if got := v.ownBytes(); got != 4*indexBytes {
		t.Errorf("the weight is %d", got)
	}
}
