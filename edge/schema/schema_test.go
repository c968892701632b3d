package schema

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

func TestSchemas(t *testing.T) {
	for name, tc := range map[string]struct {
		schema, value string
		compile       string // part of the error
		invalid       string
	}{
		"none":                {``, `{"a":1}`, ``, ``},
		"true":                {`true`, `[1]`, ``, ``},
		"false":               {`false`, `1`, ``, `no value is allowed`},
		"object":              {`{"type":"object","properties":{},"additionalProperties":true}`, `{"a":1}`, ``, ``},
		"no object":           {`{"type":"object"}`, `[]`, ``, `got array, want object`},
		"number kept":         {`{"type":"object","properties":{"n":{"const":9007199254740993}}}`, `{"n":9007199254740992}`, ``, `/n`},
		"2020-12 by default":  {`{"type":"array","prefixItems":[{"type":"string"}]}`, `[1]`, ``, `/0`},
		"draft 7 by name":     {`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}]}`, `[1]`, ``, `/0`},
		"$defs":               {`{"$ref":"#/$defs/a","$defs":{"a":{"type":"string"}}}`, `1`, ``, `want string`},
		"$anchor":             {`{"$ref":"#a","$defs":{"x":{"$anchor":"a","type":"string"}}}`, `1`, ``, `want string`},
		"file":                {`{"$ref":"file:///etc/passwd"}`, ``, `nothing is fetched`, ``},
		"network":             {`{"$ref":"https://example.com/x.json"}`, ``, `nothing is fetched`, ``},
		"relative":            {`{"$ref":"other.json"}`, ``, `nothing is fetched`, ``},
		"look-ahead":          {`{"pattern":"(?=a)"}`, ``, `(?=`, ``},
		"no schema":           {`{"type":7}`, ``, `/type`, ``},
		"no JSON":             {`{"type"`, ``, `not valid JSON`, ``},
		"too large":           {`{"title":"` + strings.Repeat("x", MaxBytes) + `"}`, ``, `at most`, ``},
		"too deep":            {strings.Repeat(`{"not":`, 200) + `true` + strings.Repeat(`}`, 200), ``, `not valid JSON`, ``},
		"absurd number":       {`{"multipleOf":1e-999999999}`, ``, `out of range`, ``},
		"absurd value":        {`{"type":"integer"}`, `1e999999999`, ``, `out of range`},
		"long value":          {`{"type":"integer"}`, strings.Repeat("9", maxNumberLen+1), ``, `out of range`},
		"cycle":               {`{"$ref":"#"}`, `1`, ``, `cycle`},
		"several violations":  {`{"properties":{"a":{"type":"string"},"b":{"type":"string"}}}`, `{"a":1,"b":2}`, ``, `; `},
		"unique of many":      {`{"uniqueItems":true}`, `[1,1.0]`, ``, `equal`},
		"null in an enum":     {`{"enum":["a",null]}`, `"x"`, ``, `must be one of 'a', null`},
		"null alone":          {`{"const":null}`, `"x"`, ``, `must be null`},
		"a bound exceeded":    {`{"minimum":5}`, `-1.50`, ``, `got -1.5, want at least 5`},
		"an open bound":       {`{"exclusiveMinimum":0}`, `0`, ``, `got 0, want more than 0`},
		"an open upper bound": {`{"exclusiveMaximum":0.1}`, `0.1`, ``, `got 0.1, want less than 0.1`},
		"a large bound":       {`{"properties":{"n":{"maximum":2147483647}}}`, `{"n":2147483648}`, ``, `at '/n': got 2147483648, want at most 2147483647`},
		"beyond a double":     {`{"maximum":9007199254740992}`, `9007199254740993`, ``, `got 9007199254740993, want at most 9007199254740992`},
		"a huge number":       {`{"maximum":1}`, `1e300`, ``, `got 1e+300, want at most 1`},
		"beyond any double":   {`{"maximum":1}`, `1e400`, ``, `got 1e+400, want at most 1`},
		"a multiple":          {`{"multipleOf":0.01}`, `1.005`, ``, `got 1.005, want a multiple of 0.01`},
		"a short text":        {`{"properties":{"a/b":{"minLength":2}}}`, `{"a/b":"x"}`, ``, `at '/a~1b': got 1 character, want at least 2`},
		"a long list":         {`{"maxItems":1}`, `[1,2]`, ``, `got 2 items, want at most 1`},
		"few members":         {`{"minProperties":1}`, `{}`, ``, `got 0 members, want at least 1`},
		"a name":              {`{"properties":{"labels":{"propertyNames":{"pattern":"^[a-z]+$"}}}}`, `{"labels":{"Bad":1}}`, ``, `at '/labels': the name 'Bad': 'Bad' does not match pattern '^[a-z]+$'`},
		"a name at the top":   {`{"propertyNames":{"maxLength":2}}`, `{"abc":1}`, ``, `the name 'abc': got 3 characters, want at most 2`},
		"format is no demand": {`{"format":"email"}`, `"x"`, ``, ``},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Compile(tc.schema)
			if (err == nil) != (tc.compile == "") || err != nil && !strings.Contains(err.Error(), tc.compile) {
				t.Fatalf("compile: %v, want %q", err, tc.compile)
			}
			if err != nil {
				return
			}
			err = s.Validate([]byte(tc.value))
			if (err == nil) != (tc.invalid == "") || err != nil && !strings.Contains(err.Error(), tc.invalid) {
				t.Fatalf("validate: %v, want %q", err, tc.invalid)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("more than a line: %q", err)
			}
		})
	}
}

func TestTrivialSchemasCompileNothing(t *testing.T) {
	for text, trivial := range map[string]bool{
		``: true, `true`: true, `{}`: true, `{"type":"object"}`: true,
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{},"required":[]}`: true,
		`{"type":"array"}`: false, `{"type":"object","properties":{"a":{}}}`: false, `{"type":"object","additionalProperties":false}`: false,
		`{"type":["object"]}`: false, `{"minProperties":1}`: false,
	} {
		s, err := Compile(text)
		if err != nil || (s.compiled == nil) != trivial {
			t.Errorf("%s: compiled %t, %v", text, s.compiled != nil, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"a":[1,-2.5e3,true,false,null,"\u00e9\n\"x"],"b":{"c":{}}, "a" : [ ] }`, ` 1 `, `[]`, `""`, `"\ud800"`, `[[[]],{}]`, `{`, `x`, `[1 2]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := Decode(raw) // must end for every input
		if err != nil || !jsonrpc.Valid(raw) {
			return
		}
		var want any
		dec := json.NewDecoder(strings.NewReader(string(raw)))
		dec.UseNumber()
		if err := dec.Decode(&want); err != nil {
			t.Fatalf("%q is valid, and encoding/json says %v", raw, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %#v, want %#v", raw, got, want)
		}
	})
}

const addSchema = `{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}`

func BenchmarkValidate(b *testing.B) {
	s, err := Compile(addSchema)
	if err != nil {
		b.Fatal(err)
	}
	raw := []byte(`{"a":1,"b":2}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Validate(raw); err != nil {
			b.Fatal(err)
		}
	}
}

// TestRunAllocates: a check of a value that fits allocates what the validator does.
func TestRunAllocates(t *testing.T) {
	s, err := Compile(addSchema)
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Prepare([]byte(`{"a":1,"b":2}`))
	if err != nil {
		t.Fatal(err)
	}
	run := testing.AllocsPerRun(100, func() { _ = c.Run() })
	if validate := testing.AllocsPerRun(100, func() { _ = c.schema.compiled.Validate(c.value) }); run != validate {
		t.Errorf("a check makes %v allocations, and the validator %v of them", run, validate)
	}
}
