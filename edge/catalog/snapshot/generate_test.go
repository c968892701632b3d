package snapshot

import (
	"encoding/json"
	"maps"
	"slices"

	"pgregory.net/rapid"
)

// generator draws schemas with few names and values, so that values are often valid, and schemas
// often related.
type generator struct{ t *rapid.T }

func (g generator) pick(of ...any) any { return rapid.SampledFrom(of).Draw(g.t, "pick") }

func (g generator) number() any { return json.Number(g.pick("-1", "0", "1", "1.5", "2", "3").(string)) }

func (g generator) size() any { return json.Number(g.pick("0", "1", "2").(string)) }

func (g generator) name() string { return g.pick("a", "b", "ab").(string) }

func (g generator) value(depth int) any {
	switch n := rapid.IntRange(0, 7).Draw(g.t, "kind"); {
	case n == 0:
		return nil
	case n == 1:
		return g.pick(true, false)
	case n == 2:
		return g.number()
	case n == 3 || depth == 0:
		return g.pick("", "a", "b", "ab")
	case n == 4:
		out := []any{}
		for range rapid.IntRange(0, 3).Draw(g.t, "length") {
			out = append(out, g.value(depth-1))
		}
		return out
	}
	out := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(g.t, "members") {
		out[g.name()] = g.value(depth - 1)
	}
	return out
}

// document draws a schema whose references lead to two definitions.
func (g generator) document() map[string]any {
	out, _ := g.schema(3).(map[string]any)
	if out == nil {
		out = map[string]any{}
	}
	out["$defs"] = map[string]any{"D": g.schema(1), "E": g.schema(1)}
	return out
}

var drawn = []string{
	"type", "type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems",
	"minProperties", "maxProperties", "uniqueItems", "pattern", "required", "dependentRequired", "properties", "properties", "properties", "patternProperties",
	"additionalProperties", "propertyNames", "items", "items", "prefixItems", "contains", "if", "not", "anyOf", "anyOf", "oneOf", "allOf", "$ref", "$ref",
	"unevaluatedProperties", "title", "x-vendor", "default",
}

func (g generator) schema(depth int) any {
	if rapid.IntRange(0, 14).Draw(g.t, "boolean") == 0 {
		return g.pick(true, false)
	}
	out := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(g.t, "keywords") {
		keyword := rapid.SampledFrom(drawn).Draw(g.t, "keyword")
		if value, ok := g.keyword(keyword, depth); ok {
			out[keyword] = value
		}
	}
	return out
}

func (g generator) keyword(keyword string, depth int) (any, bool) {
	below := func() any { return g.schema(depth - 1) }
	several := func() any {
		out := []any{}
		for range rapid.IntRange(1, 3).Draw(g.t, "branches") {
			out = append(out, below())
		}
		return out
	}
	switch keyword {
	case "type":
		names := []string{"null", "boolean", "string", "object", "array", "number", "integer"}
		if g.pick(true, false).(bool) {
			return rapid.SampledFrom(names).Draw(g.t, "type"), true
		}
		out := []any{}
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 3, rapid.ID[string]).Draw(g.t, "types") {
			out = append(out, name)
		}
		return out, true
	case "enum":
		return []any{g.value(1), g.value(1)}, true
	case "const", "default":
		return g.value(1), true
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		return g.number(), true
	case "multipleOf":
		return json.Number(g.pick("0.5", "1", "1.5").(string)), true
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		return g.size(), true
	case "uniqueItems":
		return g.pick(true, false), true
	case "pattern":
		return g.pick("^a", "b$"), true
	case "required":
		return []any{g.name()}, true
	case "dependentRequired":
		return map[string]any{g.name(): []any{g.name()}}, true
	case "title", "x-vendor":
		return "x", true
	case "$ref":
		return g.pick("#/$defs/D", "#/$defs/E", "#"), depth < 3 // The root does not refer directly to itself.
	}
	if depth == 0 {
		return nil, false
	}
	switch keyword {
	case "properties":
		out := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(g.t, "properties") {
			out[g.name()] = below()
		}
		return out, true
	case "patternProperties":
		return map[string]any{g.pick("^a", "b$").(string): below()}, true
	case "anyOf", "oneOf", "allOf", "prefixItems":
		return several(), true
	case "unevaluatedProperties":
		return g.pick(true, false), true
	}
	return below(), true // items, not, if, contains, propertyNames, additionalProperties
}

// changed returns a copy of a schema with some changes, often none.
func (g generator) changed(value any) any {
	if rapid.IntRange(0, 19).Draw(g.t, "another") == 0 {
		if _, isSchema := value.(map[string]any); isSchema {
			return g.document()
		}
	}
	s, isSchema := value.(map[string]any)
	if !isSchema {
		return value
	}
	out := map[string]any{}
	for _, keyword := range slices.Sorted(maps.Keys(s)) {
		if rapid.IntRange(0, 5).Draw(g.t, "drop") == 0 && keyword != "$defs" {
			continue
		}
		switch v := s[keyword].(type) {
		case map[string]any:
			switch keyword {
			case "enum", "const", "default", "dependentRequired":
				out[keyword] = v
			case "properties", "$defs", "patternProperties":
				members := map[string]any{}
				for _, name := range slices.Sorted(maps.Keys(v)) {
					if members[name] = g.changed(v[name]); keyword == "properties" && rapid.IntRange(0, 9).Draw(g.t, "gone") == 0 {
						delete(members, name)
					}
				}
				out[keyword] = members
			default:
				out[keyword] = g.changed(v)
			}
		case []any:
			list := []any{}
			for _, x := range v {
				if keyword == "anyOf" || keyword == "oneOf" || keyword == "allOf" || keyword == "prefixItems" {
					x = g.changed(x)
				}
				list = append(list, x)
			}
			out[keyword] = list
			if keyword == "anyOf" && rapid.IntRange(0, 3).Draw(g.t, "further") == 0 {
				out[keyword] = append(list, g.schema(1))
			}
		default:
			out[keyword] = v
		}
		if rapid.IntRange(0, 9).Draw(g.t, "other") == 0 && keyword != "$defs" {
			if value, ok := g.keyword(keyword, 1); ok {
				out[keyword] = value
			}
		}
	}
	if rapid.IntRange(0, 9).Draw(g.t, "add") == 0 {
		keyword := rapid.SampledFrom(drawn).Draw(g.t, "keyword")
		if value, ok := g.keyword(keyword, 1); ok {
			out[keyword] = value
		}
	}
	return out
}
