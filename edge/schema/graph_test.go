package schema

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Every keyword that applies a schema, or needs work of its own, must be counted: a field of the
// library's Schema that is in neither list would be missing from the cost.
func TestEveryKeywordIsCounted(t *testing.T) {
	counted := strings.Fields(`Bool Types Enum Const Ref RecursiveRef RecursiveAnchor DynamicRef DynamicAnchor
		Not AllOf AnyOf OneOf If Then Else Format
		MaxProperties MinProperties Required PropertyNames Properties PatternProperties AdditionalProperties
		Dependencies DependentRequired DependentSchemas UnevaluatedProperties
		MinItems MaxItems UniqueItems Contains MaxContains Items AdditionalItems PrefixItems Items2020 UnevaluatedItems
		MinLength MaxLength Pattern Maximum Minimum ExclusiveMaximum ExclusiveMinimum MultipleOf`)
	free := strings.Fields(`up resource dynamicAnchors allPropsEvaluated allItemsEvaluated numItemsEvaluated
		DraftVersion Location ID Anchor MinContains
		Title Description Default Comment ReadOnly WriteOnly Examples Deprecated`)
	// These are not compiled: content is not asserted, and there are no vocabularies except the
	// library's own.
	absent := strings.Fields(`ContentEncoding ContentMediaType ContentSchema Extensions`)
	known := slices.Concat(counted, free, absent)
	var fields []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[jsonschema.Schema]()) {
		fields = append(fields, f.Name)
		if !slices.Contains(known, f.Name) {
			t.Errorf("the field %s is not known: have graph.fill count it", f.Name)
		}
	}
	for _, name := range known {
		if !slices.Contains(fields, name) {
			t.Errorf("the field %s is gone", name)
		}
	}
	s := mustCompile(t, `{"contentEncoding":"base64","contentMediaType":"application/json","contentSchema":{"$ref":"#"}}`)
	for _, name := range absent {
		if v := reflect.ValueOf(s.compiled).Elem().FieldByName(name); !v.IsZero() {
			t.Errorf("%s is compiled: have graph.fill count it", name)
		}
	}
}

func mustCompile(t testing.TB, text string) *Schema {
	t.Helper()
	s, err := Compile(text)
	if err != nil {
		t.Fatalf("%.200s: %v", text, err)
	}
	return s
}

// visits returns how many schemas a check applies according to the meter, for values of at most two
// levels and schemas of one keyword.
func visits(t testing.TB, schema, value string) int64 {
	t.Helper()
	s := mustCompile(t, schema)
	v, err := Decode([]byte(value))
	if err != nil {
		t.Fatal(err)
	}
	return cost(s.root, v) / visitPoints
}

// Each keyword that applies a schema to the same value, or to a child, counts it.
func TestKeywordsAreCounted(t *testing.T) {
	for schema, value := range map[string]string{
		`{"$ref":"#/$defs/x","$defs":{"x":X}}`:                                  `V`,
		`{"$dynamicRef":"#x","$defs":{"x":{"$dynamicAnchor":"x","allOf":[X]}}}`: `V`,
		`{"$dynamicRef":"#/$defs/x","$defs":{"x":X}}`:                           `V`,
		`{"allOf":[X]}`:         `V`,
		`{"anyOf":[X]}`:         `V`,
		`{"oneOf":[X]}`:         `V`,
		`{"not":X}`:             `V`,
		`{"if":X}`:              `V`,
		`{"if":true,"then":X}`:  `V`,
		`{"if":false,"else":X}`: `V`,
		`{"dependentSchemas":{"k":{"properties":{"k":X}}}}`: `{"k":V}`,
		`{"properties":{"k":X}}`:                            `{"k":V}`,
		`{"patternProperties":{"k":X}}`:                     `{"k":V}`,
		`{"additionalProperties":X}`:                        `{"k":V}`,
		`{"unevaluatedProperties":X}`:                       `{"k":V}`,
		`{"propertyNames":{"anyOf":[` + ten + `]}}`:         `{"k":1}`,
		`{"items":X}`:                                 `[V]`,
		`{"prefixItems":[X]}`:                         `[V]`,
		`{"contains":X}`:                              `[V]`,
		`{"unevaluatedItems":X}`:                      `[V]`,
		`{"prefixItems":[true],"items":X}`:            `[1,V]`,
		`{"prefixItems":[true],"unevaluatedItems":X}`: `[1,V]`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","items":[{}],"additionalItems":X}`:                                                            `[1,V]`,
		`{"$schema":"http://json-schema.org/draft-06/schema#","contains":X}`:                                                                                `[V]`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"k":{"properties":{"k":X}}}}`:                                                 `{"k":V}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"x":X},"$ref":"#/definitions/x"}`:                                              `V`,
		`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"allOf":[{"properties":{"k":{"$recursiveRef":"#"}}}],"items":X}`: `{"k":[V]}`,
		`{"$schema":"https://json-schema.org/draft/2019-09/schema","items":[true],"unevaluatedItems":X}`:                                                    `[1,V]`,
	} {
		t.Run(schema, func(t *testing.T) {
			with := strings.ReplaceAll(schema, "X", `{"anyOf":[`+ten+`]}`)
			without := strings.ReplaceAll(schema, "X", `{"title":"x"}`)
			value := strings.ReplaceAll(value, "V", `"s"`)
			if n, m := visits(t, with, value), visits(t, without, value); !strings.Contains(schema, "X") && n < 10 || strings.Contains(schema, "X") && n < m+10 {
				t.Errorf("%d visits, %d without the applied schema: want 10 more", n, m)
			}
		})
	}
}

const ten = `{"title":"0"},{"title":"1"},{"title":"2"},{"title":"3"},{"title":"4"},{"title":"5"},{"title":"6"},{"title":"7"},{"title":"8"},{"title":"9"}`

// $dynamicRef resolves as in the library: a tree that an extending schema makes strict.
func TestDynamicReferencesAreFollowed(t *testing.T) {
	tree := `{"$id":"https://example.com/strict","$dynamicAnchor":"node","$ref":"tree","unevaluatedProperties":false,
		"$defs":{"tree":{"$id":"tree","$dynamicAnchor":"node","type":"object","properties":{"data":true,
		"children":{"type":"array","items":{"$dynamicRef":"#node"}}}}}}`
	s := mustCompile(t, tree)
	if err := s.Validate([]byte(`{"children":[{"daat":1}]}`)); err == nil || !strings.Contains(err.Error(), "/children/0/daat") {
		t.Errorf("the library does not follow: %v", err)
	}
	strict, plain := s.root, s.root.ref
	items := plain.properties["children"].items
	m := meter{left: MaxCost, open: []*node{strict, plain, items}}
	if got := m.dynamicTarget(items.dynamic); got != strict {
		t.Error("the reference leads to the inner tree, want the outermost")
	}
	m.open, m.scope = []*node{strict, plain, items}, 1
	if got := m.dynamicTarget(items.dynamic); got != plain {
		t.Error("the reference leads out of its scope")
	}
	// A schema as an argument: eight vocabularies, each with the anchor, of which the dialect's is
	// used.
	meta := mustCompile(t, `{"type":"object","properties":{"schema":{"$ref":"https://json-schema.org/draft/2020-12/schema"}}}`)
	deep := strings.Repeat(`{"properties":{"a":`, 15) + `{"type":7}` + strings.Repeat("}}", 15)
	if err := meta.Validate([]byte(`{"schema":` + deep + `}`)); err == nil || !strings.Contains(err.Error(), "/type") {
		t.Errorf("a schema that nests 15 deep: %v", err)
	}
	if meta.Multiplies() {
		t.Error("the dialect's own schema multiplies")
	}
}
