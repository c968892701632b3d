package portable_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/schema/portable"
)

// Schemas of a list are shown while there is work left. Which ones does not depend on known
// results.
func TestListsAreBounded(t *testing.T) {
	var texts []string
	for i := range 100 {
		texts = append(texts, fmt.Sprintf(`{"type":"object","properties":{"a%d":{"type":"string","minLength":%d}}}`, i, i))
	}
	one := portable.Schema(texts[0])
	if one.Work < len(texts[0])+len(one.JSON) {
		t.Fatalf("work of %d", one.Work)
	}
	list := portable.NewList(10 * one.Work)
	var made []*portable.Result
	for _, text := range texts {
		made = append(made, list.Schema(text, nil))
	}
	shown := slices.IndexFunc(made, func(r *portable.Result) bool { return r.Withheld })
	if shown < 9 || shown > 11 || list.Withheld() != len(texts)-shown {
		t.Fatalf("%d shown, %d withheld", shown, list.Withheld())
	}
	again := portable.NewList(10 * one.Work)
	for i, text := range texts {
		r := again.Schema(text, made[i])
		if r.Withheld != made[i].Withheld || r.JSON != made[i].JSON {
			t.Errorf("schema %d differs with a known result", i)
		}
		if i < shown && r != made[i] {
			t.Errorf("schema %d was made again", i)
		}
	}
	if r := made[shown]; r.JSON != `{"type":"object","properties":{}}` || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "too large together") {
		t.Errorf("withheld: %+v", r)
	}
	// A withheld schema is made as soon as there is work left.
	if r := portable.NewList(0).Schema(texts[shown], made[shown]); r.Withheld || r.JSON != portable.Schema(texts[shown]).JSON {
		t.Errorf("it stays withheld: %+v", r)
	}
}

// Tools without a schema lose nothing, and arguments that are mirrored in headers are always shown.
func TestSchemasThatAreNotWithheld(t *testing.T) {
	list := portable.NewList(1)
	list.Schema(`{"type":"object"}`, nil)
	header := `{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"}}}`
	for _, c := range []struct {
		text, want string
		notes      int
	}{
		{"", `{"type":"object","properties":{}}`, 0},
		{header, header, 0},
		{header[1:], `{"type":"object","properties":{}}`, 1},
		{`{"type":"object","properties":{"a":{}}}`, `{"type":"object","properties":{}}`, 1},
	} {
		if r := list.Schema(c.text, nil); r.JSON != c.want || len(r.Notes) != c.notes {
			t.Errorf("%q became %+v", c.text, r)
		}
	}
}
