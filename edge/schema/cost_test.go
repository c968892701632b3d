package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// chain returns a schema without recursion that visits a value 2^levels times.
func chain(levels int) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/0","$defs":{`)
	for i := range levels {
		fmt.Fprintf(&b, `"%d":{"allOf":[{"$ref":"#/$defs/%d"},{"$ref":"#/$defs/%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"%d":{"type":"object"}}}`, levels)
	return b.String()
}

func nested(open, leaf, closing string, levels int) string {
	return strings.Repeat(open, levels) + leaf + strings.Repeat(closing, levels)
}

func items(value string, n int) string {
	return "[" + strings.TrimSuffix(strings.Repeat(value+",", n), ",") + "]"
}

// A check that takes too long is not run. The schema is marked as multiplying only if ordinary
// arguments can cause it.
func TestMultiplyingSchemasAreNotChecked(t *testing.T) {
	const filter = `{"type":"object","properties":{"op":{"const":"%s"},"args":{"type":"array","items":{"$ref":"#/$defs/f"}}}}`
	filters := `{"$ref":"#/$defs/f","$defs":{"f":{"anyOf":[` + fmt.Sprintf(filter, "and") + `,` + fmt.Sprintf(filter, "or") + `,{"type":"string"}]}}}`
	for name, c := range map[string]struct {
		schema, value string
		multiplies    bool
	}{
		"a chain":                            {chain(60), `{}`, true},
		"properties and patternProperties":   {`{"properties":{"a":{"$ref":"#"}},"patternProperties":{"^a":{"$ref":"#"}}}`, nested(`{"a":`, `{}`, `}`, 57), true},
		"items and contains":                 {`{"items":{"$ref":"#"},"contains":{"$ref":"#"}}`, nested(`[`, ``, `]`, 60), true},
		"two patterns":                       {`{"patternProperties":{"a":{"$ref":"#"},"b":{"$ref":"#"}}}`, nested(`{"ab":`, `{}`, `}`, 57), true},
		"filters by the same names":          {filters, nested(`{"op":"and","args":[`, `"x"`, `]}`, 30), true},
		"dependent schemas":                  {`{"properties":{"a":{"$ref":"#"}},"dependentSchemas":{"a":{"properties":{"a":{"$ref":"#"}}}}}`, nested(`{"a":`, `{}`, `}`, 57), true},
		"not and items":                      {`{"not":{"items":{"$ref":"#"}},"items":{"$ref":"#"}}`, nested(`[`, ``, `]`, 60), true},
		"unevaluated beside an alternative":  {`{"anyOf":[{"properties":{"a":{"$ref":"#"}}}],"unevaluatedProperties":{"$ref":"#"}}`, nested(`{"a":`, `{}`, `}`, 57), true},
		"every schema refers to every other": {clique(12), `1`, true},
		"a long string and a large pattern":  {`{"properties":{"a":{"pattern":"^[a-z]{1,900}$"}}}`, `{"a":"` + strings.Repeat("x", 1<<17) + `"}`, false},
		"a long string, looked at often":     {`{"items":{"allOf":[` + items(`{"minLength":1}`, 300)[1:] + `}}`, `["` + strings.Repeat("x", 1<<20) + `"]`, true},
		"many items of a few alternatives":   {`{"items":{"anyOf":[{"type":"string"},{"type":"object"},{"type":"array"},{"type":"null"}]}}`, items("1", 80_000), false},
		"unique items that share a hash":     {`{"uniqueItems":true}`, collisions(6000), false},
		"numbers with large powers":          {`{"items":{"multipleOf":0.1,"minimum":1,"enum":[1,2,3,4,5]}}`, items("1e999", 30_000), false},
		"enum of many objects":               {`{"items":{"enum":` + items(`{"a":1}`, 1000) + `}}`, items(`{"a":2}`, 25_000), false},
		"regular expressions as values":      {`{"$schema":"http://json-schema.org/draft-07/schema#","items":{"format":"regex"}}`, `["` + strings.Repeat("a|", 1<<18) + `"]`, false},
		"more values than any check may see": {`{"properties":{"x":{"type":"string"}}}`, `{"y":` + items("1", MaxValues) + `}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := mustCompile(t, c.schema)
			if s.Multiplies() != c.multiplies {
				t.Errorf("multiplies: %v, want %v", s.Multiplies(), c.multiplies)
			}
			if _, err := s.Prepare([]byte(c.value)); !errors.Is(err, ErrCost) {
				t.Errorf("error %v, want ErrCost", err)
			}
		})
	}
}

// The search for multiplying schemas ends, however large the schema is.
func TestSearchIsBounded(t *testing.T) {
	var properties, all []string
	for i := range 1200 {
		properties = append(properties, fmt.Sprintf(`"p%d":{"$ref":"#"}`, i))
		all = append(all, fmt.Sprintf(`{"patternProperties":{"^q%d":true}}`, i))
	}
	s := mustCompile(t, `{"properties":{`+strings.Join(properties, ",")+`},"allOf":[`+strings.Join(all, ",")+`]}`)
	x := &search{left: maxSearch, memo: map[entryType]*entry{}}
	x.run(s.root)
	if x.left < -maxSearch/100 {
		t.Errorf("the search went on for %d steps beyond its bound", -x.left)
	}
}

func clique(n int) string {
	var all, defs []string
	for i := range n {
		all = append(all, fmt.Sprintf(`{"$ref":"#/$defs/%d"}`, i))
	}
	for i := range n {
		defs = append(defs, fmt.Sprintf(`"%d":{"allOf":[%s]}`, i, strings.Join(all, ",")))
	}
	return `{"$ref":"#/$defs/0","$defs":{` + strings.Join(defs, ",") + `}}`
}

// collisions returns distinct arrays that the library hashes alike: its hash ignores where an array
// ends.
func collisions(n int) string {
	var out []string
	for i := range n {
		out = append(out, nested(`[`, `1`, `]`, 2+i%60)+`,[[`+fmt.Sprint(i)+`]]`)
	}
	return `[` + strings.Join(out, ",") + `]`
}

// Ordinary schemas are checked, however deep their values nest, and with as many values as a call
// may have.
func TestOrdinarySchemasAreChecked(t *testing.T) {
	json := `{"$ref":"#/$defs/v","$defs":{"v":{"anyOf":[{"type":["null","boolean","number","string"]},{"type":"array","items":{"$ref":"#/$defs/v"}},{"type":"object","additionalProperties":{"$ref":"#/$defs/v"}}]}}}`
	filters := `{"$ref":"#/$defs/f","$defs":{"f":{"oneOf":[
		{"type":"object","properties":{"and":{"type":"array","items":{"$ref":"#/$defs/f"}}},"required":["and"],"additionalProperties":false},
		{"type":"object","properties":{"or":{"type":"array","items":{"$ref":"#/$defs/f"}}},"required":["or"],"additionalProperties":false},
		{"type":"object","properties":{"not":{"$ref":"#/$defs/f"}},"required":["not"],"additionalProperties":false},
		{"type":"object","properties":{"field":{"type":"string"},"value":true},"required":["field"],"additionalProperties":false}]}}}`
	tree := `{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#"}}},"required":["name"]}`
	for name, c := range map[string]struct{ schema, valid, invalid string }{
		"JSON values":       {json, nested(`{"a":[`, `1`, `]}`, 55), ``},
		"a tree":            {tree, nested(`{"name":"x","children":[`, ``, `]}`, 55), nested(`{"name":"x","children":[`, `{}`, `]}`, 55)},
		"filters":           {filters, nested(`{"and":[{"or":[{"not":`, `{"field":"x"}`, `}]}]}`, 20), nested(`{"and":[{"or":[{"not":`, `{"feld":"x"}`, `}]}]}`, 20)},
		"many objects":      {`{"items":{"$ref":"#/$defs/o"},"$defs":{"o":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"number"},"c":{"type":"boolean"}},"required":["a"]}}}`, items(`{"a":"x","b":1,"c":true}`, 12_500), items(`{"a":"x","b":1,"c":3}`, 12_500)},
		"many alternatives": {`{"items":{"anyOf":[{"type":"string"},{"type":"object"},{"type":"null"},{"type":"array"}]}}`, items(`"x"`, 49_999), items(`1`, 40_000)},
		"base64":            {`{"properties":{"a":{"pattern":"^[A-Za-z0-9+/]*={0,2}$"}}}`, `{"a":"` + strings.Repeat("QUJD", 1<<18) + `"}`, `{"a":"*"}`},
		"unique strings":    {`{"uniqueItems":true}`, numbered(20_000), items("1", 30_000)},
		"unique objects":    {`{"uniqueItems":true}`, `[` + strings.ReplaceAll(strings.Trim(numbered(1000), "[]"), `"v`, `{"id":1,"b":2,"c":3},"w`) + `,1]`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			s := mustCompile(t, c.schema)
			if s.Multiplies() {
				t.Error("it multiplies")
			}
			err := s.Validate([]byte(c.valid))
			if name == "unique objects" {
				if err == nil || errors.Is(err, ErrCost) {
					t.Errorf("equal objects pass: %v", err)
				}
				return
			}
			if err != nil {
				t.Errorf("the valid value: %v", err)
			}
			if err := s.Validate([]byte(c.invalid)); c.invalid != "" && (err == nil || errors.Is(err, ErrCost)) {
				t.Errorf("the invalid value: %v", err)
			}
		})
	}
}

func numbered(n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf(`"v%d"`, i))
	}
	return `[` + strings.Join(out, ",") + `]`
}

// held runs a check and returns what it holds at its end and what it allocated, in bytes.
func held(s *Schema, v any) (live, allocated int64, err error) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	err = s.compiled.Validate(v)
	runtime.ReadMemStats(&after)
	allocated = int64(after.TotalAlloc - before.TotalAlloc)
	runtime.GC()
	runtime.ReadMemStats(&after)
	live = int64(after.HeapAlloc) - int64(before.HeapAlloc)
	runtime.KeepAlive(err)
	return live, allocated, err
}

// The library's violations take no more memory than was computed.
func TestMemoryOfViolations(t *testing.T) {
	for name, c := range map[string]struct{ schema, value string }{
		"wrong items":        {`{"items":{"type":"string"}}`, items("1", 50_000)},
		"several types":      {`{"items":{"type":["string","null","array","object","boolean"]}}`, items("1", 50_000)},
		"anyOf of four":      {`{"items":{"anyOf":[{"type":"string"},{"type":"object"},{"type":"array"},{"type":"null"}]}}`, items("1", 40_000)},
		"references":         {`{"items":{"anyOf":[{"$ref":"#/$defs/s"},{"$ref":"#/$defs/s"}]},"$defs":{"s":{"type":"string"}}}`, items("1", 20_000)},
		"numbers":            {`{"items":{"minimum":3,"exclusiveMinimum":4,"multipleOf":2,"maximum":-9,"exclusiveMaximum":-8}}`, items("-7", 20_000)},
		"required":           {`{"items":{"required":["b","c","d","e","f","g","h","i"]}}`, items(`{"a":1}`, 20_000)},
		"closed":             {`{"items":{"additionalProperties":false}}`, items(`{"a":1,"b":2,"c":3}`, 10_000)},
		"unevaluated":        {`{"items":{"unevaluatedProperties":false}}`, items(`{"a":1,"b":2}`, 10_000)},
		"names":              {`{"items":{"propertyNames":{"maxLength":0}}}`, items(`{"a":1,"b":2}`, 10_000)},
		"contains":           {`{"contains":{"type":"string"},"minContains":3}`, items("1", 50_000)},
		"contained too much": {`{"contains":{"type":"number"},"maxContains":3}`, items("1", 50_000)},
		"deep":               {nested(`{"items":`, `{"type":"string"}`, `}`, 60), nested(`[`, items("1", 30_000), `]`, 59)},
		"large powers":       {`{"items":{"maximum":1,"multipleOf":7}}`, items("1e999", 5_000)},
	} {
		t.Run(name, func(t *testing.T) {
			s := mustCompile(t, c.schema)
			v, err := Decode([]byte(c.value))
			if err != nil {
				t.Fatal(err)
			}
			points := cost(s.root, v)
			if points > MaxCost {
				t.Fatal("it is over the bound")
			}
			live, allocated, err := held(s, v)
			if err == nil {
				t.Fatal("it is valid")
			}
			if live > points+64<<10 {
				t.Errorf("%d bytes are held, %d were computed", live, points)
			}
			if allocated > 6*points {
				t.Errorf("%d bytes were allocated for a cost of %d", allocated, points)
			}
		})
	}
}

// For random schemas and values, the cost of a check is never above the computed one: the library
// applies no more schemas, and holds no more memory.
func TestCostIsAnUpperBound(t *testing.T) {
	const rounds = 120
	within := 0
	for seed := range rounds {
		if upperBound(t, uint64(seed)) {
			within++
		}
	}
	if within < rounds/4 {
		t.Errorf("only %d of %d were within the bound", within, rounds)
	}
}

func FuzzCost(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { upperBound(t, seed) })
}

// upperBound tries one schema and value, and reports whether the check was within the bound.
func upperBound(t *testing.T, seed uint64) bool {
	g := &generator{rand.New(rand.NewPCG(seed, 1))}
	dialect := g.pick("http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema")
	text := g.document(dialect)
	doc, err := Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	applied := int64(0)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.RegisterFormat(&jsonschema.Format{Name: "counted", Validate: func(any) error { applied++; return nil }})
	s, err := compile(doc, c)
	if err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, text)
	}
	value := g.value(4)
	v, err := Decode([]byte(value))
	if err != nil {
		t.Fatal(err)
	}
	points := cost(s.root, v)
	if points > MaxCost/16 {
		return false
	}
	applied = 0
	live, allocated, _ := held(s, v)
	counted := applied
	dearer := func() bool {
		return counted*visitPoints > points || live > points+64<<10 || allocated > 8*points+64<<10
	}
	// Scratch memory comes from pools that may be empty, so the minimum of several runs counts.
	for range 4 {
		if !dearer() {
			break
		}
		l, a, _ := held(s, v)
		live, allocated = min(live, l), min(allocated, a)
	}
	if dearer() {
		t.Errorf("seed %d: %d points; %d schemas were applied, %d bytes held, %d allocated\n%s\n%s", seed, points, counted, live, allocated, text, value)
	}
	return true
}

// generator makes random schemas and values.
type generator struct{ *rand.Rand }

func (g *generator) pick(of ...string) string { return of[g.IntN(len(of))] }

const definitions = 4

func (g *generator) document(dialect string) string {
	var defs []string
	for i := range definitions {
		defs = append(defs, fmt.Sprintf(`"%d":%s`, i, g.schema(2)))
	}
	root := strings.TrimSuffix(strings.TrimPrefix(g.schema(2), "{"), "}")
	return `{"$schema":"` + dialect + `",` + root + `,"$defs":{` + strings.Join(defs, ",") + `}}`
}

// schema returns a schema whose format counts how often it is applied, with up to three other
// keywords.
func (g *generator) schema(depth int) string {
	out := []string{`"format":"counted"`}
	seen := map[string]bool{}
	for range g.IntN(4) {
		k := g.keyword(depth)
		if name, _, _ := strings.Cut(k, ":"); !seen[name] {
			seen[name] = true
			out = append(out, k)
		}
	}
	return "{" + strings.Join(out, ",") + "}"
}

func (g *generator) sub(depth int) string {
	switch {
	case depth <= 0 || g.IntN(3) == 0:
		return fmt.Sprintf(`{"format":"counted","allOf":[{"$ref":"#/$defs/%d"}]}`, g.IntN(definitions))
	case g.IntN(6) == 0:
		return g.pick("true", "false")
	}
	return g.schema(depth - 1)
}

func (g *generator) list(depth int) string {
	out := []string{g.sub(depth)}
	for range g.IntN(3) {
		out = append(out, g.sub(depth))
	}
	return "[" + strings.Join(out, ",") + "]"
}

func (g *generator) keyword(depth int) string {
	switch g.IntN(30) {
	case 0:
		return `"allOf":` + g.list(depth)
	case 1:
		return `"anyOf":` + g.list(depth)
	case 2:
		return `"oneOf":` + g.list(depth)
	case 3:
		return `"not":` + g.sub(depth)
	case 4:
		return `"if":` + g.sub(depth) + `,"then":` + g.sub(depth) + `,"else":` + g.sub(depth)
	case 5:
		return `"properties":{"a":` + g.sub(depth) + `,"b":` + g.sub(depth) + `}`
	case 6:
		return `"patternProperties":{"` + g.pick("a", "b", "^[a-c]$", ".") + `":` + g.sub(depth) + `}`
	case 7:
		return `"additionalProperties":` + g.sub(depth)
	case 8:
		return `"propertyNames":` + g.sub(depth)
	case 9:
		return `"dependentSchemas":{"a":` + g.sub(depth) + `}`
	case 10:
		return `"dependencies":{"a":` + g.sub(depth) + `,"b":["c","d"]}`
	case 11:
		return `"unevaluatedProperties":` + g.sub(depth)
	case 12:
		return `"items":` + g.sub(depth)
	case 13:
		return `"prefixItems":` + g.list(depth)
	case 14:
		return `"contains":` + g.sub(depth) + g.pick("", `,"minContains":3`, `,"maxContains":1`)
	case 15:
		return `"unevaluatedItems":` + g.sub(depth)
	case 16:
		return `"uniqueItems":true`
	case 17:
		return `"required":["a","x","y"]`
	case 18:
		return `"enum":[1,"a",[1],{"a":1}]`
	case 19:
		return `"const":` + g.value(1)
	case 20:
		return `"minimum":5,"multipleOf":3`
	case 21:
		return `"minLength":2,"maxLength":0,"pattern":"^x+$"`
	case 22:
		return `"dependentRequired":{"a":["q"],"b":["r","s"]}`
	case 23:
		return `"minItems":9,"maxItems":0,"minProperties":9,"maxProperties":0`
	}
	return `"type":` + g.pick(`"object"`, `"array"`, `["object","array"]`, `["integer","string","array","object"]`)
}

func (g *generator) value(depth int) string {
	if depth > 0 {
		switch g.IntN(5) {
		case 0, 1:
			var out []string
			for _, name := range []string{"a", "b", "c", "d"} {
				if g.IntN(2) == 0 {
					out = append(out, `"`+name+`":`+g.value(depth-1))
				}
			}
			return "{" + strings.Join(out, ",") + "}"
		case 2, 3:
			var out []string
			for range g.IntN(5) {
				out = append(out, g.value(depth-1))
			}
			return "[" + strings.Join(out, ",") + "]"
		}
	}
	return g.pick(`1`, `-2.5`, `"a"`, `""`, `"`+strings.Repeat("y", 300)+`"`, `null`, `true`, `1e300`)
}

// A check within the bound has the same result as the library's.
func TestChecksAgreeWithTheLibrary(t *testing.T) {
	for seed := range uint64(200) {
		g := &generator{rand.New(rand.NewPCG(seed, 2))}
		text, value := g.document("https://json-schema.org/draft/2020-12/schema"), g.value(4)
		s := mustCompile(t, text)
		err := s.Validate([]byte(value))
		if errors.Is(err, ErrCost) {
			continue
		}
		doc, _ := jsonschema.UnmarshalJSON(strings.NewReader(text))
		c := jsonschema.NewCompiler()
		if err := c.AddResource("x:///y", doc); err != nil {
			t.Fatal(err)
		}
		want := c.MustCompile("x:///y").Validate(decoded(t, value))
		if (err == nil) != (want == nil) {
			t.Errorf("%s\n%s: %v, the library says %v", text, value, err, want)
		}
	}
}

func decoded(t *testing.T, text string) (v any) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// What a violation quotes does not make its line too long.
func TestViolationsAreShort(t *testing.T) {
	long := strings.Repeat("\x7f", 1<<20)
	for schema, value := range map[string]any{
		`{"properties":{"a":{"pattern":"^x$"}}}`:                                                    map[string]string{"a": long},
		`{"additionalProperties":false}`:                                                            map[string]string{long: "x"},
		`{"propertyNames":{"maxLength":3}}`:                                                         map[string]string{long: "x"},
		`{"additionalProperties":{"type":"number"}}`:                                                map[string]string{long: "x"},
		`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"format":"uri"}}}`: map[string]string{"a": "%" + long},
	} {
		raw, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		err = mustCompile(t, schema).Validate(raw)
		if err == nil || len(err.Error()) > 2*maxDetail {
			t.Errorf("%s: %.300v", schema, err)
		}
	}
}

func BenchmarkCost(b *testing.B) {
	for name, c := range map[string]struct{ schema, value string }{
		"plain":  {addSchema, `{"a":1,"b":2}`},
		"bound":  {chain(60), `{}`},
		"50,000": {`{"items":{"type":"string"}}`, items(`"x"`, 49_999)},
	} {
		s := mustCompile(b, c.schema)
		v, err := Decode([]byte(c.value))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				cost(s.root, v)
			}
		})
	}
}
