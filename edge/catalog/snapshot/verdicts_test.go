package snapshot

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpedge/mcpedge/edge/schema"
)

// A change that is reported as not breaking does not break anything: valid arguments stay valid,
// unless they have undeclared members, and results that are valid now were valid before. After a
// change of kind Words the same values are valid.
func TestVerdicts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := generator{t}
		before := g.document()
		after := g.changed(before)
		member := rapid.SampledFrom([]string{inputSchema, outputSchema}).Draw(t, "member")
		kind := Words
		for _, c := range Compare(with(member, before), with(member, after)) {
			kind = max(kind, c.Kind)
		}
		check := func(sub, super any) {
			one, other := compiled(t, sub), compiled(t, super)
			for range 20 {
				raw, _ := json.Marshal(g.value(3))
				if one.Validate(raw) != nil {
					continue
				}
				// A schema with an endless reference to itself accepts nothing.
				if err := other.Validate(raw); err != nil && !strings.Contains(err.Error(), "reference cycle") {
					x, _ := json.Marshal(before)
					y, _ := json.Marshal(after)
					t.Fatalf("%s of %s: %s distinguishes them\n%s\n%s\n%v", kind, member, raw, x, y, err)
				}
			}
		}
		switch {
		case kind == Words:
			check(before, after)
			check(after, before)
		case kind == Breaks:
		case member == inputSchema:
			check(closed(before, true), after)
		default:
			check(after, before)
		}
	})
}

func with(member string, schema any) *Snapshot {
	shown, _ := json.Marshal(map[string]any{"name": "t", member: schema})
	return tools(string(shown))
}

func compiled(t *rapid.T, doc any) *schema.Schema {
	raw, _ := json.Marshal(doc)
	s, err := schema.Compile(string(raw))
	if err != nil {
		t.Skip(err)
	}
	return s
}

// closed returns a schema that accepts only the members that it names, where the mode Input assumes
// that callers send no others.
func closed(value any, root bool) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, x := range v {
			switch key {
			case "enum", "const", "required":
				out[key] = x
			case "properties", "$defs", "patternProperties":
				members := map[string]any{}
				for name, s := range x.(map[string]any) {
					members[name] = closed(s, false)
				}
				out[key] = members
			default:
				out[key] = closed(x, false)
			}
		}
		names, _ := v["properties"].(map[string]any)
		_, open := v["additionalProperties"]
		_, patterns := v["patternProperties"]
		if !open && !patterns && (root || len(names) > 0) {
			out["additionalProperties"] = false
		}
		return out
	case []any:
		out := []any{}
		for _, x := range v {
			out = append(out, closed(x, false))
		}
		return out
	}
	return value
}
