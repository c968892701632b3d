package schema

import (
	"strings"
	"testing"
)

// A null that its property does not accept is removed if the property is optional. All else keeps
// its text.
func TestWithoutNulls(t *testing.T) {
	const person = `{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"},"note":{"type":["string","null"]}},"required":["name"]}`
	for name, tc := range map[string]struct{ schema, value, want string }{
		"optional":             {person, `{"name":"a", "age" : null ,"x":1.50}`, `{"name":"a","x":1.50}`},
		"first":                {person, `{"age":null,"name":"a"}`, `{"name":"a"}`},
		"alone":                {person, `{"age":null}`, `{}`},
		"escaped name":         {person, `{"name":"a","\u0061ge":null}`, `{"name":"a"}`},
		"required":             {person, `{"name":null}`, `{"name":null}`},
		"takes null":           {person, `{"name":"a","note":null}`, `{"name":"a","note":null}`},
		"not described":        {person, `{"name":"a","other":null}`, `{"name":"a","other":null}`},
		"nothing to take off":  {person, `{"name":"null", "age":1}`, `{"name":"null", "age":1}`},
		"no object":            {person, `[null]`, `[null]`},
		"any object":           {`{"type":"object"}`, `{"a":null}`, `{"a":null}`},
		"no schema":            {``, `{"a":null}`, `{"a":null}`},
		"enum":                 {`{"properties":{"a":{"enum":["x",1]},"b":{"enum":["x",null]},"c":{"const":1},"d":{"const":null}}}`, `{"a":null,"b":null,"c":null,"d":null}`, `{"b":null,"d":null}`},
		"any of":               {`{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"integer"}]},"b":{"anyOf":[{"type":"string"},{"type":"null"}]},"c":{"oneOf":[{"const":"x"}]}}}`, `{"a":null,"b":null,"c":null}`, `{"b":null}`},
		"all of":               {`{"properties":{"a":{"allOf":[{"title":"t"},{"type":"string"}]}}}`, `{"a":null}`, `{}`},
		"by reference":         {`{"$ref":"#/$defs/o","$defs":{"o":{"properties":{"a":{"$ref":"#/$defs/s"}}},"s":{"type":"string"}}}`, `{"a":null}`, `{}`},
		"required beside":      {`{"$ref":"#/$defs/o","required":["a"],"$defs":{"o":{"properties":{"a":{"type":"string"}}}}}`, `{"a":null}`, `{"a":null}`},
		"in an object":         {`{"properties":{"p":` + person + `}}`, `{"p":{"name":"a","age":null},"q":{"age":null}}`, `{"p":{"name":"a"},"q":{"age":null}}`},
		"in a list":            {`{"properties":{"l":{"type":"array","items":` + person + `}}}`, `{"l":[ null, {"name":"a","age":null} ,1]}`, `{"l":[null,{"name":"a"},1]}`},
		"in an optional model": {`{"properties":{"p":{"anyOf":[` + person + `,{"type":"null"}]}}}`, `{"p":{"name":"a","age":null}}`, `{"p":{"name":"a"}}`},
		"of two models":        {`{"properties":{"p":{"anyOf":[` + person + `,{"type":"object"}]}}}`, `{"p":{"name":"a","age":null}}`, `{"p":{"name":"a","age":null}}`},
		"recursive":            {`{"properties":{"next":{"$ref":"#"},"n":{"type":"integer"}}}`, `{"next":{"next":{"n":null},"n":null},"n":1}`, `{"next":{"next":{}},"n":1}`},
		"no JSON":              {person, `{"age":null`, `{"age":null`},
		"of two, both":         {person, `{"age":null,"age":null}`, `{}`},
	} {
		s, err := Compile(tc.schema)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := string(s.WithoutNulls([]byte(tc.value))); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// Endless recursion in a schema takes bounded time.
func TestWithoutNullsIsBounded(t *testing.T) {
	all := strings.TrimSuffix(strings.Repeat(`{"$ref":"#/$defs/N"},`, 50), ",")
	var defs []string
	for _, level := range strings.Split("A B C D E F G H", " ") {
		defs = append(defs, `"`+level+`":{"allOf":[`+strings.ReplaceAll(all, "N", string(level[0]+1))+`]}`)
	}
	s, err := Compile(`{"properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{` + strings.Join(defs, ",") + `,"I":{"title":"none"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(s.WithoutNulls([]byte(`{"a":null}`))); got != `{"a":null}` {
		t.Error(got)
	}
}
