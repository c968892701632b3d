// Package variance proves that every value that is valid by one JSON Schema of dialect 2020-12 is
// valid by another. A proof is never wrong. It may not be found if the schemas are written very
// differently.
//
// Annotations and unknown keywords constrain nothing. `format` and the content keywords constrain
// strings, because some backends check them. References are followed within the document only.
package variance

import (
	"reflect"
	"strings"
)

// Mode says for which values schemas are compared.
type Mode int

const (
	// Plain compares only the valid values.
	Plain Mode = iota
	// Input compares arguments that callers send. The sub schema is the older one. Its callers do not
	// send members that it does not declare, unless it declares `additionalProperties` or, below the
	// root, no properties at all. A declared property must stay declared.
	Input
	// Output compares results. The super schema is the older one. Members that it declares must stay
	// declared.
	Output
)

// Doc is a document of schemas that refer to each other. It is not safe for concurrent use.
type Doc struct {
	// Root is the whole document.
	Root   any
	opaque bool // see Opaque
	// based is true if a schema below the root has an `$id`, against which references are resolved.
	based bool
	// normal maps the addresses of schemas to their normal forms. kept holds these schemas, so that
	// their addresses are not reused.
	normal map[uintptr]map[string]any
	kept   []map[string]any
}

// New returns the document whose root is a schema. root must have been decoded with json.Number.
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

// Opaque reports whether the document has keywords that its dialect reads differently from 2020-12.
// Nothing is proved about such a document, unless both are equal.
func (d *Doc) Opaque() bool { return d.opaque }

// foreignKeywords returns the keywords that a dialect does not have, or reads differently from
// 2020-12.
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

// walkMaps calls fn with each object of a document that is a schema or contains schemas. It skips
// plain values, and maps whose keys are names.
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

// target returns the target of a reference within the document.
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
			return nil, false // References to elements of lists are not followed.
		}
		if at, ok = members[strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")]; !ok {
			return nil, false
		}
	}
	return at, true
}
