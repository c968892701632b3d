package catalog

import (
	"slices"
	"testing"

	"github.com/mcpedge/mcpedge/edge/backend"
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
	x.retain(overlay.Sets{"s": {Search: true}, "other": {Search: true}})
	first := x.of("s", of(a, b))
	other := of(a, b)
	if other.schemas = overlay.SchemasPortable; x.of("s", other) == first {
		t.Error("the same tools in another form have the same index")
	}
	first = x.of("s", of(a, b))
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

// TestIndexesOfRemovedSets: the index of a set is freed when a generation has no such set with search, and a search in a view of before
// does not bring it back.
func TestIndexesOfRemovedSets(t *testing.T) {
	set := func(name string, search bool) *overlay.Set { return &overlay.Set{Name: name, Search: search} }
	o := Options{Sets: overlay.Sets{"gone": set("gone", true), "off": set("off", true), "stays": set("stays", true)}}.withDefaults()
	s := newViews(func() []*backend.Backend { return nil }, viewOptions{report: &reporter{log: o.Logger}}, &o)
	before := s.Shared.Load()
	find := func() {
		for name := range o.Sets {
			s.in(before, name).search.index()
		}
	}
	kept := func() (names []string) {
		for name, one := range s.narrow.indexes.last {
			if one.index != nil {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return names
	}
	narrow := s.in(before, "gone")
	s.in(before, "stays").search.index()
	s.in(before, "off").search.index()
	if got := kept(); !slices.Equal(got, []string{"off", "stays"}) {
		t.Fatalf("before: %q", got)
	}
	s.replace(nil, overlay.Sets{"stays": set("stays", true), "off": set("off", false)}, func() {})
	if got := kept(); !slices.Equal(got, []string{"stays"}) {
		t.Errorf("afterwards: %q", got)
	}
	if narrow.search.index() == nil {
		t.Error("a view of before has no index")
	}
	if find(); !slices.Equal(kept(), []string{"stays"}) {
		t.Errorf("after searches in the view of before: %q", kept())
	}
}
