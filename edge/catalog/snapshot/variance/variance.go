// Package variance says whether every value that is valid by one JSON Schema is valid by another, of
// dialect 2020-12. It proves that or does not know: it never says so of schemas for which it is untrue,
// and it may not find a proof where the schemas are written in very different ways.
//
// Annotations and unknown keywords constrain nothing. `format` and the content keywords constrain
// texts, as backends do that check them. Only references within the document are followed.
package variance

import (
	"reflect"
	"strings"
)

// Mode is what the values are for.
type Mode int

const (
	// Plain compares values alone.
	Plain Mode = iota
	// Input compares arguments that callers send. The sub schema is the older one. Its callers do not
	// send members that it does not declare, unless it declares `additionalProperties` or, below the
	// root, no properties at all. A declared property must stay declared.
	Input
	// Output compares results. The super schema is the older one, and what it declares must stay
	// declared.
	Output
)

// Doc is a schema with its document, in which its references lead. It is not safe for concurrent use.
type Doc struct {
	// Root is the whole document.
	Root   any
	opaque bool // see Opaque
	// based is true if a schema below the root has an `$id`, against which references are resolved.
	based bool
	// normal has the Normal of schemas by their address. kept has these schemas, so that no other one
	// gets the address.
	normal map[uintptr]map[string]any
	kept   []map[string]any
}

// New returns a schema, decoded with json.Number.
func New(root any) *Doc {
	d := &Doc{Root: root, normal: map[uintptr]map[string]any{}}
	members, _ := root.(map[string]any)
	dialect, _ := members["$schema"].(string)
	foreign := foreignKeywords(dialect)
	walkMaps(root, func(m map[string]any) {
		_, isList := m["items"].([]any)
		_, refers := m["$ref"]
		ignored := refers && strings.Contains(dialect, "draft-0") && constrainsBeside(m)
		d.opaque = d.opaque || isList || ignored || hasAny(m, foreign)
		if _, has := m["$id"].(string); has && reflect.ValueOf(m).Pointer() != reflect.ValueOf(root).Pointer() {
			d.based = true
		}
	})
	return d
}

// Opaque reports whether the document has keywords that mean something else in its own dialect. Nothing
// is proved of it.
func (d *Doc) Opaque() bool { return d.opaque }

// foreignKeywords returns keywords that a dialect does not have or does not read as 2020-12 does.
func foreignKeywords(dialect string) []string {
	later := []string{"prefixItems", "$dynamicRef", "dependencies", "additionalItems", "$recursiveRef"}
	switch {
	case dialect == "", strings.Contains(dialect, "2020-12"):
		return nil
	case strings.Contains(dialect, "2019-09"):
		return later
	}
	later = append(later, "dependentRequired", "dependentSchemas", "unevaluatedItems", "unevaluatedProperties", "minContains", "maxContains")
	if strings.Contains(dialect, "draft-07") {
		return later
	}
	return append(later, "if", "const", "contains", "propertyNames", "id")
}

// constrainsBeside reports whether a schema has constraints beside its reference.
func constrainsBeside(m map[string]any) bool {
	for key := range m {
		if key != "$ref" && Constrains(key) {
			return true
		}
	}
	return false
}

// walkMaps calls fn with each object of a document that is a schema or holds some, but not with plain
// values and not with the maps whose keys are names.
func walkMaps(value any, fn func(map[string]any)) {
	switch v := value.(type) {
	case map[string]any:
		fn(v)
		for key, x := range v {
			switch key {
			case "default", "const", "enum", "examples":
			case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
				named, _ := x.(map[string]any)
				for _, schema := range named {
					walkMaps(schema, fn)
				}
			default:
				walkMaps(x, fn)
			}
		}
	case []any:
		for _, x := range v {
			walkMaps(x, fn)
		}
	}
}

// target returns what a reference within the document leads to.
func (d *Doc) target(ref string) (any, bool) {
	rest, local := strings.CutPrefix(ref, "#")
	if !local || d.based || rest != "" && rest[0] != '/' || strings.Contains(rest, "%") {
		return nil, false
	}
	at := d.Root
	if rest == "" {
		return at, true
	}
	for _, step := range strings.Split(rest, "/")[1:] {
		members, ok := at.(map[string]any)
		if !ok {
			return nil, false // References into lists are not followed.
		}
		if at, ok = members[strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")]; !ok {
			return nil, false
		}
	}
	return at, true
}
