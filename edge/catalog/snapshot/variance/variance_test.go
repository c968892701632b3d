package variance

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func decode(t interface{ Fatal(...any) }, text string) any {
	var value any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		t.Fatal(text, err)
	}
	return value
}

func proved(t interface{ Fatal(...any) }, a, b string, mode Mode) bool {
	x, y := decode(t, a), decode(t, b)
	return NewPair(New(x), New(y), mode).Within(x, y, 0)
}

// Each line has two schemas, of which the first is the narrower one: it is within the second. The
// second is not within the first, unless the line has a "=".
func TestWithin(t *testing.T) {
	for _, c := range [][3]string{
		{`{"maximum":10}`, "<", `{"maximum":20}`},
		{`{"minimum":5}`, "<", `{"minimum":1}`},
		{`{"minimum":5}`, "<", `{}`},
		{`{"exclusiveMinimum":5}`, "<", `{"minimum":5}`},
		{`{"type":"integer","exclusiveMinimum":4.5}`, "=", `{"type":"integer","minimum":5}`},
		{`{"maximum":1.0}`, "=", `{"maximum":1}`},
		{`{"maximum":1e99999999999}`, "?", `{"maximum":1}`},
		{`{"multipleOf":0.6}`, "<", `{"multipleOf":0.2}`},
		{`{"type":"integer"}`, "=", `{"type":"integer","multipleOf":0.5}`},
		{`{"maxLength":10}`, "<", `{"maxLength":100}`},
		{`{"minItems":2}`, "<", `{"minItems":1}`},
		{`{"minItems":0}`, "=", `{}`},
		{`{"uniqueItems":true}`, "<", `{"uniqueItems":false}`},
		{`{"pattern":"a"}`, "<", `{}`},
		{`{"pattern":"a"}`, "?", `{"pattern":"b"}`},
		{`{"format":"date"}`, "?", `{"format":"date-time"}`},
		{`{"type":"integer"}`, "<", `{"type":"number"}`},
		{`{"type":["integer","number"]}`, "=", `{"type":"number"}`},
		{`{"type":"string"}`, "<", `{"type":["string","null"]}`},
		{`{"type":"string"}`, "<", `{"type":["string","integer"],"minimum":4}`},
		{`{"enum":["a"]}`, "<", `{"type":"string"}`},
		{`{"const":"a"}`, "=", `{"enum":["a"]}`},
		{`{"enum":[1.0,2]}`, "=", `{"enum":[2,1]}`},
		{`{"type":"boolean"}`, "=", `{"type":"boolean","enum":[true,false]}`},
		{`{"required":["a","b"]}`, "<", `{"required":["a"]}`},
		{`{"additionalProperties":false}`, "<", `{}`},
		{`{"properties":{"a":{"type":"string"}},"additionalProperties":false}`, "<", `{"additionalProperties":{"type":"string"}}`},
		{`{"properties":{"a":false}}`, "<", `{"properties":{"a":{}}}`},
		{`{"patternProperties":{"^a":{"type":"string"}}}`, "<", `{}`},
		{`{"patternProperties":{"^a":{"type":"string"}}}`, "?", `{"patternProperties":{"^b":{"type":"string"}}}`},
		{`{"propertyNames":{"maxLength":3}}`, "<", `{"propertyNames":{"maxLength":4}}`},
		{`{"dependentRequired":{"a":["b","c"]}}`, "<", `{"dependentRequired":{"a":["b"]}}`},
		{`{"items":{"type":"integer"}}`, "<", `{"items":{"type":"number"}}`},
		{`{"prefixItems":[{"type":"string"}],"items":{"type":"string"}}`, "=", `{"items":{"type":"string"}}`},
		{`{"maxItems":1,"prefixItems":[{"type":"string"}]}`, "<", `{"items":{"type":"string"}}`},
		{`{"contains":{"type":"string"}}`, "<", `{}`},
		{`{"not":{"type":["string","null"]}}`, "<", `{"not":{"type":"string"}}`},
		{`false`, "<", `{"type":"string"}`},
		{`true`, "=", `{"title":"x","x-vendor":1,"default":3}`},
		{`{"if":{"type":"string"},"then":{"minLength":1}}`, "<", `{}`},
		{`{"unevaluatedProperties":false}`, "<", `{}`},
		{`{"unevaluatedProperties":false,"properties":{"a":{}}}`, "?", `{"unevaluatedProperties":false,"properties":{"a":{},"b":{}}}`},
		// equal schemas that are written differently
		{`{"anyOf":[{"type":"string"}]}`, "=", `{"type":"string"}`},
		{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, "=", `{"type":["string","null"]}`},
		{`{"oneOf":[{"const":"a","title":"A"},{"const":"b"}]}`, "=", `{"enum":["b","a"]}`},
		{`{"anyOf":[{"type":"string"}],"maxLength":3}`, "=", `{"type":"string","allOf":[{"maxLength":3},{"maxLength":4}]}`},
		{`{"$ref":"#/$defs/S","$defs":{"S":{"type":"string"}}}`, "=", `{"type":"string"}`},
		{`{"$ref":"#/$defs/S","$defs":{"S":{"type":"string"}}}`, "?", `{"$ref":"#/$defs/S","$defs":{"S":{"type":"integer"}}}`},
		{`{"not":{"$ref":"#/$defs/S"},"$defs":{"S":{"type":"string"}}}`, "?", `{"not":{"$ref":"#/$defs/S"},"$defs":{"S":{"type":"integer"}}}`},
		{`{"$ref":"#/$defs/a~1b","$defs":{"a/b":{"type":"string"}}}`, "=", `{"type":"string"}`},
		{`{"allOf":[{"properties":{"a":{"type":"string"}}},{"properties":{"a":{"maxLength":3}},"required":["a"]}]}`, "=", `{"properties":{"a":{"type":"string","maxLength":3}},"required":["a"]}`},
		{`{"allOf":[{"properties":{"a":{}},"additionalProperties":false},{"properties":{"b":{}}}]}`, "<", `{"properties":{"a":{},"b":{}}}`},
		// alternatives
		{`{"anyOf":[{"type":"string"},{"type":"integer"}]}`, "<", `{"anyOf":[{"type":"null"},{"type":"string"},{"type":"number"}]}`},
		{`{"oneOf":[{"type":"string"},{"type":"integer"}]}`, "<", `{"oneOf":[{"type":"null"},{"type":"string"},{"type":"number"}]}`},
		{`{"oneOf":[{"minimum":1},{"maximum":3}]}`, "?", `{"oneOf":[{"minimum":1},{"maximum":4}]}`},
		{`{"oneOf":[{"minimum":1},{"maximum":3}]}`, "=", `{"oneOf":[{"title":"x","minimum":1},{"maximum":3}]}`},
		{
			`{"oneOf":[{"type":"object","properties":{"k":{"const":"a"}},"required":["k"]},{"type":"object","properties":{"k":{"const":"b"}},"required":["k"]}]}`, "<",
			`{"oneOf":[{"type":"object","properties":{"k":{"const":"a"}},"required":["k"]},{"type":"object","properties":{"k":{"const":"b"}},"required":["k"]},{"type":"object","properties":{"k":{"const":"c"}},"required":["k"]}]}`,
		},
		// recursion
		{`{"properties":{"next":{"$ref":"#"},"v":{"type":"integer"}}}`, "<", `{"properties":{"next":{"$ref":"#"},"v":{"type":"number"}}}`},
		{`{"$ref":"#/$defs/L","$defs":{"L":{"anyOf":[{"type":"null"},{"type":"array","items":{"$ref":"#/$defs/L"}}]}}}`, "=", `{"$ref":"#/$defs/M","$defs":{"M":{"type":["null","array"],"items":{"$ref":"#/$defs/M"}}}}`},
		{`{"$ref":"#"}`, "?", `{"type":"string"}`},
		{`{"type":"string"}`, "?", `{"anyOf":[{"$ref":"#"},{"type":"number"}]}`},
		// dialects
		{`{"$schema":"http://json-schema.org/draft-07/schema#","type":"string","const":"a"}`, "<", `{"type":"string"}`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/S","maxLength":1,"definitions":{"S":{"type":"string"}}}`, "?", `{"type":"string"}`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}]}`, "?", `{}`},
		{`{"type":"object","default":{"items":[1]}}`, "<", `{}`},
		{`{"$ref":"https://example.org/x"}`, "=", `{"$ref":"https://example.org/x"}`},
		{`{"$ref":"https://example.org/x"}`, "<", `{}`},
		{`{"$defs":{"x":{"$id":"https://example.org/x","$ref":"#/$defs/y"}},"$ref":"#/$defs/x"}`, "<", `{}`},
		{`{"properties":5}`, "?", `{"properties":{"a":{"type":"string"}}}`},
	} {
		forth, back := proved(t, c[0], c[2], Plain), proved(t, c[2], c[0], Plain)
		got := map[[2]bool]string{{true, true}: "=", {true, false}: "<", {false, true}: ">", {false, false}: "?"}[[2]bool{forth, back}]
		if got != c[1] {
			t.Errorf("%s %s %s, want %s", c[0], got, c[2], c[1])
		}
	}
}

func TestModes(t *testing.T) {
	for _, c := range []struct {
		mode Mode
		a, b string
		want bool
	}{
		{Input, `{"properties":{}}`, `{"properties":{"a":{"type":"string"}}}`, true},
		{Input, `{"additionalProperties":true}`, `{"properties":{"a":{"type":"string"}}}`, false},
		{Input, `{"properties":{"o":{"type":"object"}}}`, `{"properties":{"o":{"type":"object","properties":{"a":{"type":"string"}}}}}`, false},
		{Input, `{"properties":{"o":{"properties":{"b":{}}}}}`, `{"properties":{"o":{"properties":{"b":{},"a":{"type":"string"}}}}}`, true},
		{Input, `{"properties":{"a":{}}}`, `{}`, false},
		{Input, `{"properties":{"a":{}}}`, `{"properties":{"a":{}},"additionalProperties":false}`, false},
		{Output, `{"properties":{"a":{}}}`, `{}`, true},
		{Output, `{"properties":{"a":{}}}`, `{"additionalProperties":false}`, false},
		{Output, `{}`, `{"properties":{"a":{}}}`, false},
	} {
		if got := proved(t, c.a, c.b, c.mode); got != c.want {
			t.Errorf("%v: %s within %s: %t", c.mode, c.a, c.b, got)
		}
	}
}

// Schemas that refer to each other many times are compared in bounded time.
func TestManyReferences(t *testing.T) {
	var a strings.Builder
	a.WriteString(`{"$ref":"#/$defs/d0","$defs":{"d30":{"type":"string"}`)
	for i := range 30 {
		name, next := fmt.Sprintf(`"d%d"`, i), fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1)
		a.WriteString(`,` + name + `:{"anyOf":[{"properties":{"x":` + next + `,"y":` + next + `}},` + next + `,{"allOf":[` + next + `,` + next + `]}]}`)
	}
	a.WriteString(`}}`)
	before, after := a.String(), strings.Replace(a.String(), `{"type":"string"}`, `{"type":"integer"}`, 1)
	if proved(t, before, after, Plain) {
		t.Error("a string is an integer")
	}
	proved(t, before, before, Plain)
}
