package variance

import (
	"maps"
	"reflect"
	"slices"
)

// Normal returns an equivalent schema in a normal form, which makes comparisons easier. References
// within the document are replaced by their targets, `allOf` and alternatives with one branch are
// merged into the schema, and `const` becomes an `enum`. Schemas that cannot be merged stay in
// `allOf`. The result must not be changed.
func (d *Doc) Normal(schema any) map[string]any {
	switch s := schema.(type) {
	case bool:
		if s {
			return map[string]any{}
		}
		return never()
	case nil:
		return map[string]any{}
	case map[string]any:
		key := reflect.ValueOf(s).Pointer()
		if known, ok := d.normal[key]; ok {
			return known
		}
		out := map[string]any{}
		for _, part := range d.conjuncts(s, nil) {
			out = merge(out, part)
		}
		d.normal[key], d.normal[reflect.ValueOf(out).Pointer()] = out, out
		d.kept = append(d.kept, s)
		return out
	}
	return map[string]any{malformed: schema}
}

// malformed is a keyword that marks an invalid schema.
const malformed = "$malformed"

// never returns a schema that accepts nothing.
func never() map[string]any { return map[string]any{"not": map[string]any{}} }

// isNever reports whether a normal schema evidently accepts nothing.
func isNever(s map[string]any) bool {
	not, has := s["not"]
	members, isMap := not.(map[string]any)
	values, finite := s["enum"].([]any)
	return has && (not == true || isMap && !constrains(members)) || finite && len(values) == 0
}

// maxParts bounds the number of parts of one schema.
const maxParts = 200

// conjuncts splits a schema into schemas that all must hold, without `allOf`, references and single
// alternatives. through has the addresses of the schemas on the way to s.
func (d *Doc) conjuncts(s map[string]any, through []uintptr) (out []map[string]any) {
	key := reflect.ValueOf(s).Pointer()
	own := maps.Clone(s)
	out = append(out, own)
	if slices.Contains(through, key) || len(through) > maxParts {
		delete(own, "allOf")
		own[malformed] = s // It refers to itself, or is nested too deep.
		return out
	}
	through = append(slices.Clip(through), key)
	follow := func(schema any) {
		switch x := schema.(type) {
		case map[string]any:
			out = append(out, d.conjuncts(x, through)...)
		case bool:
			if !x {
				out = append(out, never())
			}
		default:
			out = append(out, map[string]any{malformed: schema})
		}
	}
	if ref, ok := s["$ref"].(string); ok {
		if target, found := d.target(ref); found {
			delete(own, "$ref")
			follow(target)
		}
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		branches, ok := s[keyword].([]any)
		if !ok || len(branches) == 0 || keyword != "allOf" && len(branches) > 1 || len(branches)+len(out) > maxParts {
			continue
		}
		delete(own, keyword)
		for _, branch := range branches {
			follow(branch)
		}
	}
	if value, ok := own["const"]; ok {
		delete(own, "const")
		if values, both := own["enum"].([]any); both {
			own["enum"] = common(values, []any{value})
		} else {
			own["enum"] = []any{value}
		}
	}
	if len(out) > 1 && (own["unevaluatedProperties"] != nil || own["unevaluatedItems"] != nil) {
		// The unevaluated keywords depend on all parts, so these are not merged.
		return []map[string]any{maps.Clone(s), {malformed: "unevaluated"}}
	}
	return out
}

// unmergeable are groups of keywords that cannot be merged if both schemas have them, with different
// values.
var unmergeable = [][]string{
	{"prefixItems", "items", "additionalItems"}, {"contains", "minContains", "maxContains"}, {"if", "then", "else"},
	{"anyOf"}, {"oneOf"}, {"not"}, {"allOf"}, {"$ref"}, {"$dynamicRef"}, {"$recursiveRef"}, {"dependentSchemas"}, {"dependentRequired"}, {"dependencies"},
	{"propertyNames"}, {"pattern"}, {"format"}, {"contentEncoding"}, {"contentMediaType"}, {"contentSchema"}, {"multipleOf"}, {"uniqueItems"},
	{"unevaluatedProperties"}, {"unevaluatedItems"}, {malformed},
}

// merge returns a schema that accepts the values that both accept. Annotations are those of a.
func merge(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	for _, group := range unmergeable {
		inA, inB := hasAny(a, group), hasAny(b, group)
		if inA && inB && slices.ContainsFunc(group, func(key string) bool { return !reflect.DeepEqual(a[key], b[key]) }) {
			return addToAllOf(out, b)
		}
	}
	objects := []string{"properties", "patternProperties", "additionalProperties"}
	if hasAny(a, objects) && hasAny(b, objects) && (hasAny(a, objects[1:]) || hasAny(b, objects[1:])) {
		return addToAllOf(out, b)
	}
	for key, value := range b {
		mine, both := a[key]
		if !both {
			out[key] = value
			continue
		}
		switch key {
		case "required":
			out[key] = union(listOf(mine), listOf(value))
		case "enum":
			out[key] = common(listOf(mine), listOf(value))
		case "type":
			if out[key] = commonTypes(mine, value); len(listOf(out[key])) == 0 {
				return never()
			}
		case "properties":
			merged, ok := mergeProperties(mine, value)
			if !ok {
				return addToAllOf(maps.Clone(a), b)
			}
			out[key] = merged
		case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties":
			x, y := rational(mine), rational(value)
			switch {
			case x == nil || y == nil:
				return addToAllOf(maps.Clone(a), b)
			case (x.Cmp(y) < 0) == isLower(key):
				out[key] = value
			}
		}
	}
	return out
}

// addToAllOf adds b, which cannot be merged into a, to the `allOf` of a.
func addToAllOf(a, b map[string]any) map[string]any {
	rest := slices.Clone(listOf(a["allOf"]))
	if inner, ok := b["allOf"].([]any); ok {
		b = maps.Clone(b)
		delete(b, "allOf")
		rest = append(rest, inner...)
	}
	a["allOf"] = append(rest, b)
	return a
}

func mergeProperties(a, b any) (map[string]any, bool) {
	x, isA := a.(map[string]any)
	y, isB := b.(map[string]any)
	if !isA || !isB {
		return nil, false
	}
	out := maps.Clone(x)
	for name, value := range y {
		switch mine, both := x[name]; {
		case !both:
			out[name] = value
		case !reflect.DeepEqual(mine, value):
			out[name] = map[string]any{"allOf": []any{mine, value}}
		}
	}
	return out, true
}

func hasAny(s map[string]any, keys []string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { _, has := s[key]; return has })
}
