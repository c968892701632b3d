package portable_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/mcpedge/mcpedge/edge/check/lint"
	"github.com/mcpedge/mcpedge/edge/schema/portable"
)

type noLoader struct{}

func (noLoader) Load(url string) (any, error) { return nil, fmt.Errorf("%s is not fetched", url) }

func compile(text string) (s *jsonschema.Schema, err error) {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	if err := c.AddResource("schema:test", doc); err != nil {
		return nil, err
	}
	return c.Compile("schema:test")
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// keywords are all that a portable schema may have.
var keywords = []string{"type", "title", "description", "properties", "required", "items", "enum", "anyOf", "minimum",
	"maximum", "minItems", "maxItems", "pattern", "format", "x-mcp-header"}

var memberName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// checkForm checks the form of a portable schema: what every interface requires.
func checkForm(t interface{ Fatalf(string, ...any) }, doc any, at string, root bool) {
	o, ok := doc.(map[string]any)
	if !ok {
		t.Fatalf("at %s: %v is not an object", at, doc)
	}
	for key := range o {
		if !slices.Contains(keywords, key) {
			t.Fatalf("at %s: keyword %s", at, key)
		}
	}
	list, choice := o["anyOf"].([]any)
	if choice {
		if root || len(o) > 1 || len(list) < 2 {
			t.Fatalf("at %s: anyOf at the root, beside others, or with fewer than two forms", at)
		}
		for i, x := range list {
			checkForm(t, x, fmt.Sprintf("%s/anyOf/%d", at, i), false)
		}
		return
	}
	kind, ok := o["type"].(string)
	if !ok || root && kind != "object" {
		t.Fatalf("at %s: type %v", at, o["type"])
	}
	if kind == "array" {
		checkForm(t, o["items"], at+"/items", false)
	}
	properties, _ := o["properties"].(map[string]any)
	if _, there := o["properties"]; there && !root && len(properties) == 0 {
		t.Fatalf("at %s: no properties", at)
	}
	for name, x := range properties {
		if !memberName.MatchString(name) {
			t.Fatalf("at %s: member %q", at, name)
		}
		checkForm(t, x, at+"/properties/"+name, false)
	}
	required, _ := o["required"].([]any)
	for _, name := range required {
		if _, there := properties[name.(string)]; !there {
			t.Fatalf("at %s: %v is required and no property", at, name)
		}
	}
	values, _ := o["enum"].([]any)
	for _, v := range values {
		if v == "" || kind != "string" {
			t.Fatalf("at %s: the value %v of a %s", at, v, kind)
		}
	}
}

// judge checks a portable schema's form, and that it accepts what the full schema accepts.
func judge(t interface{ Fatalf(string, ...any) }, full string, values []any) (accepted int) {
	result := portable.Schema(full)
	if again := portable.Schema(full); again.JSON != result.JSON || !slices.Equal(again.Notes, result.Notes) {
		t.Fatalf("two results for one schema")
	}
	var doc any
	if err := json.Unmarshal([]byte(result.JSON), &doc); err != nil {
		t.Fatalf("%v: %s", err, result.JSON)
	}
	if shown := result.Describe(result.JSON); values != nil && !strings.Contains(full, "x-mcp-header") && strings.Contains(shown, "#/") {
		t.Fatalf("a reference remains in\n%s\nof\n%s", shown, full)
	}
	if !strings.Contains(full, "x-mcp-header") {
		if len(result.JSON) > portable.ShownBytes*5/4 {
			t.Fatalf("%d bytes", len(result.JSON))
		}
		checkForm(t, doc, "", true)
		for _, found := range lint.Check(lint.Tool{Name: "tool", Schema: result.JSON}) {
			if !found.Limit && found.Rule != "property-names" { // names must be kept
				t.Fatalf("%s\nof\n%s\nfor\n%s", found, result.JSON, full)
			}
		}
	}
	if result.Work < min(len(full), portable.MaxBytes) || result.Work > portable.MaxWork {
		t.Fatalf("work of %d", result.Work)
	}
	if len(values) == 0 && !strings.Contains(full, "x-mcp-header") {
		return 0 // compiling is among the rules above
	}
	shown, err := compile(result.JSON)
	if err != nil {
		t.Fatalf("the portable schema does not compile: %v\n%s", err, result.JSON)
	}
	compiled, err := compile(full)
	if err != nil {
		return 0
	}
	for _, v := range values {
		if compiled.Validate(v) != nil {
			continue
		}
		accepted++
		if err := shown.Validate(v); err != nil {
			t.Fatalf("%s\nfits\n%s\nbut not\n%s\n%v", text(v), full, result.JSON, err)
		}
	}
	return accepted
}

var names = []string{"a", "b", "c", "a b"}

// anySchema draws a schema of at most deep levels. draft selects the keywords.
func anySchema(t *rapid.T, deep int) any {
	if rapid.IntRange(0, 24).Draw(t, "boolean") == 0 {
		return rapid.Bool().Draw(t, "schema")
	}
	s := map[string]any{}
	sub := func() any { return anySchema(t, deep-1) }
	list := func() []any {
		out := []any{}
		for range rapid.IntRange(1, 3).Draw(t, "branches") {
			out = append(out, sub())
		}
		return out
	}
	kinds := []string{"string", "integer", "number", "boolean", "object", "array", "null"}
	switch rapid.IntRange(0, 5).Draw(t, "typed") {
	case 0, 1, 2:
		s["type"] = rapid.SampledFrom(kinds).Draw(t, "type")
	case 3:
		s["type"] = []any{rapid.SampledFrom(kinds[:4]).Draw(t, "type"), rapid.SampledFrom(kinds[4:]).Draw(t, "other")}
	}
	for range rapid.IntRange(0, 4).Draw(t, "keywords") {
		word := rapid.SampledFrom([]string{"enum", "const", "pattern", "format", "minLength", "maxLength", "minimum", "exclusiveMinimum",
			"maximum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "uniqueItems", "minProperties", "required", "properties", "properties",
			"additionalProperties", "patternProperties", "propertyNames", "items", "prefixItems", "contains", "allOf", "anyOf", "oneOf", "not", "if",
			"$ref", "$ref", "dependentRequired", "default", "description", "unevaluatedProperties"}).Draw(t, "keyword")
		if deep == 0 && slices.Contains([]string{"properties", "additionalProperties", "patternProperties", "propertyNames", "items", "prefixItems",
			"contains", "allOf", "anyOf", "oneOf", "not", "if"}, word) {
			continue
		}
		switch word {
		case "enum":
			values := []any{}
			for range rapid.IntRange(1, 4).Draw(t, "values") {
				values = append(values, value(t, 1))
			}
			s[word] = values
		case "const", "default":
			s[word] = value(t, 1)
		case "pattern":
			s[word] = rapid.SampledFrom([]string{"^a", "b$", `\d`, `\bx`, "^.$", `[^\s]`, "(?i)A", "a|b", `\pL`}).Draw(t, "pattern")
		case "format":
			s[word] = rapid.SampledFrom([]string{"date-time", "email", "uuid"}).Draw(t, "format")
		case "minLength", "maxLength", "minItems", "maxItems", "minProperties":
			s[word] = rapid.IntRange(0, 2).Draw(t, word)
		case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
			s[word] = rapid.SampledFrom([]json.Number{"0", "1", "-1", "0.5", "1e1", "2.0"}).Draw(t, word)
		case "multipleOf":
			s[word] = json.Number("0.5")
		case "uniqueItems":
			s[word] = true
		case "required":
			s[word] = []any{rapid.SampledFrom(names).Draw(t, "required")}
		case "properties", "patternProperties":
			members := map[string]any{}
			for range rapid.IntRange(1, 3).Draw(t, "members") {
				members[rapid.SampledFrom(names).Draw(t, "name")] = sub()
			}
			s[word] = members
		case "additionalProperties", "unevaluatedProperties":
			s[word] = false
			if deep > 0 && rapid.Bool().Draw(t, "schema of others") {
				s[word] = sub()
			}
		case "prefixItems", "allOf", "anyOf", "oneOf":
			s[word] = list()
		case "$ref":
			s[word] = rapid.SampledFrom([]string{"#/$defs/x", "#/$defs/y", "#/$defs/x", "#", "#here", "#/properties/a", "#/%24defs/y"}).Draw(t, "reference")
		case "if":
			s["if"], s["then"], s["else"] = sub(), sub(), sub()
		case "dependentRequired":
			s[word] = map[string]any{"a": []any{"b"}}
		case "description":
			s[word] = "What it is."
		default:
			s[word] = sub()
		}
	}
	return s
}

// form draws one of several forms of an object.
func form(t *rapid.T) any {
	f := map[string]any{}
	members := map[string]any{}
	for range rapid.IntRange(0, 2).Draw(t, "members") {
		members[rapid.SampledFrom(names).Draw(t, "name")] = anySchema(t, 1)
	}
	if len(members) > 0 {
		f["properties"] = members
	}
	if rapid.Bool().Draw(t, "typed") {
		f["type"] = "object"
	}
	if rapid.Bool().Draw(t, "closed") {
		f["additionalProperties"] = false
	}
	if rapid.Bool().Draw(t, "demanding") {
		f["required"] = []any{rapid.SampledFrom(names).Draw(t, "required")}
	}
	return f
}

// value draws JSON whose arrays nest no deeper than AnyDepth.
func value(t *rapid.T, deep int) any {
	most := 8
	if deep == 0 {
		most = 6
	}
	switch rapid.IntRange(0, most).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2, 3:
		return rapid.SampledFrom([]string{"", "a", "b", "ab", "1", "x", "ä", "A", "2024-01-02T03:04:05Z"}).Draw(t, "text")
	case 4, 5, 6:
		return rapid.SampledFrom([]json.Number{"0", "1", "2", "-1", "0.5", "1.0", "1.5", "10", "11"}).Draw(t, "number")
	case 7:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			list = append(list, value(t, min(deep, portable.AnyDepth)-1))
		}
		return list
	}
	return object(t, deep)
}

func object(t *rapid.T, deep int) any {
	members := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(t, "members") {
		members[rapid.SampledFrom(names).Draw(t, "name")] = value(t, max(deep-1, 0))
	}
	return members
}

// The portable schema accepts every value that the full schema accepts.
func TestPortableAcceptsWhatTheFullSchemaDoes(t *testing.T) {
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		root, ok := anySchema(t, 3).(map[string]any)
		if !ok {
			root = map[string]any{}
		}
		root["type"] = "object"
		if rapid.IntRange(0, 2).Draw(t, "forms") == 0 {
			forms := []any{}
			for range rapid.IntRange(2, 3).Draw(t, "branches") {
				forms = append(forms, form(t))
			}
			word := rapid.SampledFrom([]string{"anyOf", "oneOf"}).Draw(t, "choice")
			if rapid.Bool().Draw(t, "at the root") {
				root[word] = forms
			} else {
				root["properties"] = map[string]any{"a": map[string]any{"type": "object", "properties": map[string]any{"c": map[string]any{"type": "string"}}, word: forms}}
			}
		}
		defs := map[string]any{"x": anySchema(t, 2), "y": anySchema(t, 2)}
		if m, ok := defs["y"].(map[string]any); ok {
			m["$anchor"] = "here"
		}
		root["$defs"] = defs
		var values []any
		for range 8 {
			values = append(values, object(t, 3))
		}
		accepted += judge(t, text(root), values)
	})
	if accepted < 100 {
		t.Errorf("only %d values fitted their schema", accepted)
	}
	t.Logf("%d values accepted", accepted)
}

// fuzzedBytes bounds the fuzzed text, which otherwise keeps growing. TestHostileSchemasAreBounded
// covers large schemas.
const fuzzedBytes = 16 << 10

// FuzzPortable reads schemas of any text.
func FuzzPortable(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `[]`, `{"$ref":"#"}`, `{"allOf":[{"$ref":"#"}]}`, `{"anyOf":[{"required":["a"]},{"not":{"required":["a"]}}]}`,
		`{"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/a"},{"type":"array","items":{"$ref":"#/$defs/a"}}]}}}`,
		`{"properties":{"a":{"enum":[1,1e999,"",null,{}]},"b":{"minimum":1e-999,"maximum":12345678901234567890123456789012345678901}}}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"$ref":"#/definitions/a","type":"string"}},"definitions":{"a":{"type":"integer"}}}`,
		`{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"$id":"x","$ref":"#/y"}}}`,
		`{"type":"object","properties":{"a":{"oneOf":[{"properties":{"k":{"const":"x"}},"required":["k"]},{"properties":{"k":{"const":"y"}}}]}}}`,
	} {
		f.Add(seed, `{"a":1}`)
	}
	f.Fuzz(func(t *testing.T, full, value string) {
		if len(full)+len(value) > fuzzedBytes {
			return
		}
		var v any
		if d := json.NewDecoder(strings.NewReader(value)); true {
			d.UseNumber()
			if d.Decode(&v) != nil || tooLarge.MatchString(value) || tooLarge.MatchString(full) || strings.Contains(value, "[[") {
				v = map[string]any{}
			}
		}
		if _, ok := v.(map[string]any); !ok {
			v = map[string]any{"a": v}
		}
		if strings.Contains(text(v), "[") { // arrays within arrays are the only exception
			v = map[string]any{}
		}
		judge(t, full, []any{v})
	})
}

// tooLarge matches numbers that the judge cannot compute with.
var tooLarge = regexp.MustCompile(`[eE][-+]?[0-9]{3}`)
