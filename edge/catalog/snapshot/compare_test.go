package snapshot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func tools(entries ...string) *Snapshot {
	s := &Snapshot{}
	for _, text := range entries {
		var e struct{ Name string }
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			panic(err)
		}
		s.Tools = append(s.Tools, Entry{Name: e.Name, Backend: "crm", Shown: json.RawMessage(text)})
	}
	return s
}

func said(changes []Change) (out []string) {
	for _, c := range changes {
		out = append(out, fmt.Sprintf("%s %s %s: %s", c.Kind, c.What, c.Name, c.Text))
	}
	return out
}

func TestCompare(t *testing.T) {
	input := func(schema string) *Snapshot { return tools(`{"name":"t","inputSchema":` + schema + `}`) }
	output := func(schema string) *Snapshot { return tools(`{"name":"t","outputSchema":` + schema + `}`) }
	aliased := func(name string, aliases ...string) *Snapshot {
		s := tools(`{"name":"` + name + `"}`)
		s.Tools[0].Aliases = aliases
		return s
	}
	canonical := func(name string, s *Snapshot) *Snapshot {
		s.Tools[0].Canonical = name
		return s
	}
	prompt := func(arguments string) *Snapshot {
		return &Snapshot{Prompts: []Entry{{Name: "p", Backend: "crm", Shown: json.RawMessage(`{"name":"p","arguments":` + arguments + `}`)}}}
	}
	for name, c := range map[string]struct {
		before, after *Snapshot
		want          []string
	}{
		"the same":            {tools(`{"name":"t","title":"x"}`), tools(`{"title":"x","name":"t"}`), nil},
		"gone and new":        {tools(`{"name":"a"}`), tools(`{"name":"b"}`), []string{"breaks tool a: it is gone", `widens tool b: it is new, of the backend "crm"`}},
		"texts":               {tools(`{"name":"t","description":"x"}`), tools(`{"name":"t","description":"y"}`), []string{"words tool t: description has changed"}},
		"renamed, with alias": {aliased("a"), canonical("a", aliased("b", "a")), []string{`words tool a: it is "b" now, and still answers to this name`}},
		"an alias gone":       {aliased("a", "old"), aliased("a"), []string{`breaks tool a: its alias "old" is gone`}},
		"hints": {
			tools(`{"name":"t","annotations":{"readOnlyHint":true,"idempotentHint":false}}`), tools(`{"name":"t","annotations":{"idempotentHint":true}}`),
			[]string{"changes tool t: readOnlyHint was true and is false", "words tool t: idempotentHint was false and is true"},
		},
		"an optional argument": {input(`{"properties":{}}`), input(`{"properties":{"a":{}}}`), []string{`widens tool t: the argument "a" is new`}},
		"a required one":       {input(`{"properties":{}}`), input(`{"properties":{"a":{}},"required":["a"]}`), []string{`breaks tool t: the argument "a" is required now`}},
		"required no more":     {input(`{"properties":{"a":{}},"required":["a"]}`), input(`{"properties":{"a":{}}}`), []string{`widens tool t: the argument "a" is optional now`}},
		"an argument gone":     {input(`{"properties":{"a":{"properties":{"b":{}}}}}`), input(`{"properties":{"a":{"properties":{}}}}`), []string{`breaks tool t: the argument "a.b" is gone`}},
		"a wider type":         {input(`{"properties":{"a":{"type":"integer"}}}`), input(`{"properties":{"a":{"type":["number","null"]}}}`), []string{`widens tool t: the type of the argument "a": ["number","null"], before ["integer"]`}},
		"another type":         {input(`{"properties":{"a":{"type":"string"}}}`), input(`{"properties":{"a":{"type":"number"}}}`), []string{`breaks tool t: the type of the argument "a": ["number"], before ["string"]`}},
		"fewer values":         {input(`{"properties":{"a":{"items":{"enum":[1,{"x":2}]}}}}`), input(`{"properties":{"a":{"items":{"enum":[{"x":2}]}}}}`), []string{`breaks tool t: the values of the argument "a[]": [{"x":2}], before [1,{"x":2}]`}},
		"the order of values":  {input(`{"properties":{"a":{"enum":[1,2]}}}`), input(`{"properties":{"a":{"enum":[2,1]}}}`), []string{`words tool t: the schema of the argument "a" is written otherwise, and means the same`}},
		"a bound":              {input(`{"properties":{"a":{}}}`), input(`{"properties":{"a":{"maximum":5}}}`), []string{`breaks tool t: maximum of the argument "a" was absent and is 5`}},
		"a bound less":         {input(`{"properties":{"a":{"maximum":5}}}`), input(`{"properties":{"a":{}}}`), []string{`widens tool t: maximum of the argument "a" was 5 and is absent`}},
		"an argument's text":   {input(`{"properties":{"a":{"description":"x"}}}`), input(`{"properties":{"a":{"description":"y"}}}`), []string{`words tool t: description of the argument "a" has changed`}},
		"a result's member":    {output(`{"properties":{"a":{}},"required":["a"]}`), output(`{"properties":{}}`), []string{`breaks tool t: the member of the result "a" is gone`}},
		"perhaps absent":       {output(`{"properties":{"a":{}},"required":["a"]}`), output(`{"properties":{"a":{}}}`), []string{`breaks tool t: the member of the result "a" is optional now`}},
		"a wider result":       {output(`{"properties":{"a":{"type":"string"}}}`), output(`{"properties":{"a":{"type":["string","null"]}}}`), []string{`breaks tool t: the type of the member of the result "a": ["string","null"], before ["string"]`}},
		"bounds that widen": {
			input(`{"properties":{"n":{"maximum":10},"m":{"minimum":5},"s":{"maxLength":10}}}`), input(`{"properties":{"n":{"maximum":20},"m":{"minimum":1},"s":{"maxLength":100}}}`),
			[]string{`widens tool t: minimum of the argument "m" was 5 and is 1`, `widens tool t: maximum of the argument "n" was 10 and is 20`, `widens tool t: maxLength of the argument "s" was 10 and is 100`},
		},
		"a bound of a result": {output(`{"properties":{"n":{"maximum":10}}}`), output(`{"properties":{"n":{"maximum":20}}}`), []string{`breaks tool t: maximum of the member of the result "n" was 10 and is 20`}},
		"fewer results":       {output(`{"properties":{"n":{}}}`), output(`{"properties":{"n":{"maxItems":2}}}`), []string{`widens tool t: maxItems of the member of the result "n" was absent and is 2`}},
		"closed results":      {output(`{"properties":{"n":{}}}`), output(`{"properties":{"n":{}},"additionalProperties":false}`), []string{`widens tool t: additionalProperties was absent and is false`}},
		"opened results":      {output(`{"properties":{"n":{}},"additionalProperties":false}`), output(`{"properties":{"n":{},"m":{}},"additionalProperties":false}`), []string{`breaks tool t: the member of the result "m" is new, and additionalProperties excluded it`}},
		"closed arguments":    {input(`{"properties":{"n":{}}}`), input(`{"properties":{"n":{}},"additionalProperties":false}`), []string{`breaks tool t: additionalProperties was absent and is false`}},
		"a header":            {input(`{"properties":{"e":{"type":"string"}}}`), input(`{"properties":{"e":{"type":"string","x-mcp-header":"E"}}}`), []string{`breaks tool t: x-mcp-header of the argument "e" is "E" now: calls of the newest revision over HTTP that have the argument are refused without that header`}},
		"another header":      {input(`{"properties":{"e":{"type":"string","x-mcp-header":"D"}}}`), input(`{"properties":{"e":{"type":"string","x-mcp-header":"E"}}}`), []string{`breaks tool t: x-mcp-header of the argument "e" was "D" and is "E": calls of the newest revision over HTTP that have the argument are refused without that header`}},
		"a header's case":     {input(`{"properties":{"e":{"type":"string","x-mcp-header":"e"}}}`), input(`{"properties":{"e":{"type":"string","x-mcp-header":"E"}}}`), []string{`words tool t: x-mcp-header of the argument "e" has changed`}},
		"no header any more":  {input(`{"properties":{"e":{"type":"string","x-mcp-header":"E"}}}`), input(`{"properties":{"e":{"type":"string"}}}`), []string{`words tool t: x-mcp-header of the argument "e" was "E" and is absent`}},
		"an unused header":    {input(`{"properties":{"e":{"type":"number"}}}`), input(`{"properties":{"e":{"type":"number","x-mcp-header":"E"}}}`), []string{`words tool t: x-mcp-header of the argument "e" has changed`}},
		"a vendor's keyword":  {input(`{"properties":{"e":{}}}`), input(`{"properties":{"e":{"x-vendor":1}}}`), []string{`words tool t: x-vendor of the argument "e" has changed`}},
		"anyOf of one":        {input(`{"properties":{"s":{"type":"string"}}}`), input(`{"properties":{"s":{"anyOf":[{"type":"string"}]}}}`), []string{`words tool t: the schema of the argument "s" is written otherwise, and means the same`}},
		"a definition": {
			input(`{"properties":{"s":{"type":"string"}}}`), input(`{"properties":{"s":{"$ref":"#/$defs/S"}},"$defs":{"S":{"type":"string"}}}`),
			[]string{`words tool t: the schema of the argument "s" is written otherwise, and means the same`},
		},
		"a changed definition": {
			input(`{"properties":{"s":{"$ref":"#/$defs/S"}},"$defs":{"S":{"type":"string"}}}`), input(`{"properties":{"s":{"$ref":"#/$defs/S"}},"$defs":{"S":{"type":["string","null"],"title":"x"}}}`),
			[]string{`widens tool t: the type of the argument "s": ["string","null"], before ["string"]`, `words tool t: title of the argument "s" has changed`},
		},
		"anyOf for types":       {input(`{"properties":{"s":{"type":"string"}}}`), input(`{"properties":{"s":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`), []string{`widens tool t: the schema of the argument "s" is written otherwise, and accepts what it accepted`}},
		"other alternatives":    {input(`{"properties":{"s":{"type":"string"}}}`), input(`{"properties":{"s":{"anyOf":[{"type":"integer"},{"type":"null"}]}}}`), []string{`breaks tool t: the schema of the argument "s" has changed, and may accept less`}},
		"a further alternative": {input(`{"properties":{"s":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`), input(`{"properties":{"s":{"anyOf":[{"type":"string"},{"type":"null"},{"const":1}]}}}`), []string{`widens tool t: anyOf of the argument "s" has a further alternative: [{"const":1}]`}},
		"another alternative":   {input(`{"properties":{"s":{"anyOf":[{"type":"null"},{"maxLength":3}]}}}`), input(`{"properties":{"s":{"anyOf":[{"maxLength":2},{"type":"null"}]}}}`), []string{`breaks tool t: maxLength of the argument "s(anyOf)" was 3 and is 2`}},
		"not comparable":        {input(`{"properties":{"s":{"pattern":"^a*$"}}}`), input(`{"properties":{"s":{"pattern":"^a+$"}}}`), []string{`breaks tool t: pattern of the argument "s" was "^a*$" and is "^a+$"`}},
		"another dialect":       {input(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`), input(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"}`), []string{`words tool t: $schema has changed`}},
		"an old dialect":        {input(`{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":["b"]}}`), input(`{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":["c"]}}`), []string{`breaks tool t: the schema has keywords that its dialect reads in another way than 2020-12, and cannot be compared with what it was`}},
		"recursive": {
			input(`{"properties":{"c":{"items":{"$ref":"#"}},"n":{"maximum":1}}}`), input(`{"properties":{"c":{"items":{"$ref":"#"}},"n":{"maximum":2}}}`),
			[]string{`widens tool t: maximum of the argument "c[].n" was 1 and is 2`, `widens tool t: maximum of the argument "n" was 1 and is 2`},
		},
		"recursive elements":   {input(`{"properties":{"a":{}}}`), input(`{"properties":{"a":{"$ref":"#/$defs/L"}},"$defs":{"L":{"items":{"$ref":"#/$defs/L"}}}}`), []string{`breaks tool t: the schema of the argument "a[]" has changed, and may accept less`}},
		"a default":            {input(`{"properties":{"a":{"default":1}}}`), input(`{"properties":{"a":{"default":2}}}`), []string{`changes tool t: default of the argument "a" was 1 and is 2`}},
		"a result's default":   {output(`{"properties":{"a":{"default":1}}}`), output(`{"properties":{"a":{"default":2}}}`), []string{`words tool t: default of the member of the result "a" has changed`}},
		"gone with aliases":    {aliased("a", "b", "c"), &Snapshot{}, []string{`breaks tool a: it is gone, and so are its aliases b, c`}},
		"a new alias":          {aliased("a"), aliased("a", "b"), []string{`widens tool a: it also answers to the alias "b"`}},
		"a moved alias":        {&Snapshot{Tools: append(aliased("a", "x").Tools, aliased("b").Tools...)}, &Snapshot{Tools: append(aliased("a").Tools, aliased("b", "x").Tools...)}, []string{`breaks tool a: its alias "x" leads to "b" now`, `widens tool b: it also answers to the alias "x"`}},
		"the alias of another": {aliased("a"), aliased("b", "a"), []string{`changes tool a: it is "b" of its backend now, and was "a"`, `words tool a: it is "b" now, and still answers to this name`}},
		"tasks":                {tools(`{"name":"t","execution":{"taskSupport":"required"}}`), tools(`{"name":"t","execution":{"taskSupport":"optional"}}`), []string{`widens tool t: execution was {"taskSupport":"required"} and is {"taskSupport":"optional"}`}},
		"no output schema":     {output(`{}`), tools(`{"name":"t"}`), []string{"breaks tool t: it has no output schema any more"}},
		"prompts": {
			prompt(`[{"name":"a"},{"name":"b","required":true},{"name":"c"}]`), prompt(`[{"name":"a","required":true},{"name":"b"},{"name":"d"}]`),
			[]string{`breaks prompt p: the argument "a" is required now`, `breaks prompt p: the argument "c" is gone`, `widens prompt p: the argument "b" is optional now`, `widens prompt p: the argument "d" is new`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := said(Compare(c.before, c.after)); !slices.Equal(got, c.want) {
				t.Errorf("the changes are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// Compare covers the arguments that the edge adds to calls, and the bounds of results.
func TestCompareSent(t *testing.T) {
	tool := func(schema string, change func(e *Entry)) *Snapshot {
		s := tools(`{"name":"t"` + schema + `}`)
		change(&s.Tools[0])
		return s
	}
	sends := func(schema string, sent ...Sent) *Snapshot { return tool(schema, func(e *Entry) { e.Sends = sent }) }
	limited := func(schema string, tokens int) *Snapshot {
		return tool(schema, func(e *Entry) { e.MaxResultTokens = tokens })
	}
	one, two := Sent{Argument: "m", Value: Digest("t", "m", json.RawMessage(`"a"`))}, Sent{Argument: "m", Value: Digest("t", "m", json.RawMessage(`"b"`))}
	tenant, team := Sent{Argument: "m", From: "principal.claims.tenant"}, Sent{Argument: "m", From: "principal.claims.team"}
	standard := func(value string) Sent { return Sent{Argument: "m", Default: json.RawMessage(value)} }
	const shows = `,"inputSchema":{"properties":{"m":{}}}`
	const promises = `,"outputSchema":{}`
	for name, c := range map[string]struct {
		before, after *Snapshot
		want          []string
	}{
		"the same":          {sends("", one), sends("", one), nil},
		"another value":     {sends("", one), sends("", two), []string{`changes tool t: the argument "m" is pinned to another value, before a fixed one`}},
		"a fixed value":     {sends("", tenant), sends("", one), []string{`changes tool t: the argument "m" is pinned to another value, before "principal.claims.tenant"`}},
		"another claim":     {sends("", tenant), sends("", team), []string{`breaks tool t: the argument "m" is computed from the caller by "principal.claims.team", before "principal.claims.tenant": callers without a value are refused`}},
		"a claim":           {sends("", one), sends("", tenant), []string{`breaks tool t: the argument "m" is computed from the caller by "principal.claims.tenant", before a fixed one: callers without a value are refused`}},
		"pinned now":        {sends(shows), sends(`,"inputSchema":{"properties":{}}`, one), []string{`breaks tool t: the argument "m" is gone`}},
		"pinned and unseen": {sends(""), sends("", one), []string{`changes tool t: the argument "m" is pinned to a value`}},
		"free again":        {sends(`,"inputSchema":{"properties":{}}`, one), sends(shows), []string{`changes tool t: the argument "m" is not pinned any more, before a fixed one`, `widens tool t: the argument "m" is new`}},
		"another default": {
			sends(`,"inputSchema":{"properties":{"m":{"default":1}}}`, standard("1")), sends(`,"inputSchema":{"properties":{"m":{"default":{"a":2}}}}`, standard(`{"a": 2}`)),
			[]string{`changes tool t: the argument "m" is sent by default as {"a":2}, before 1`},
		},
		"no default":               {sends("", standard("1")), sends(""), []string{`changes tool t: the argument "m" is sent by default as absent, before 1`}},
		"shorter results":          {limited("", 200), limited("", 1), []string{`changes tool t: max-result was 200 tokens and is 1 tokens: longer results are cut`}},
		"shorter promised results": {limited(promises, 200), limited(promises, 1), []string{`breaks tool t: max-result was 200 tokens and is 1 tokens: longer structured results are errors`}},
		"longer results":           {limited(promises, 1), limited(promises, 0), []string{`widens tool t: max-result was 1 tokens and is absent`}},
		"another tool":             {tool("", func(e *Entry) { e.Canonical = "x" }), tool("", func(*Entry) {}), []string{`changes tool t: it is "t" of its backend now, and was "x"`}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := said(Compare(c.before, c.after)); !slices.Equal(got, c.want) {
				t.Errorf("the changes are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// A snapshot equals itself after it was written and read, whatever its schemas are. Equal snapshots
// have equal bytes.
func TestSnapshotsAreCanonical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var value func(depth int) any
		value = func(depth int) any {
			switch n := rapid.IntRange(0, 6).Draw(t, "kind"); {
			case depth == 0 || n < 3:
				return rapid.SampledFrom([]any{"string", true, nil, json.Number("1.50"), json.Number("7"), "<&>"}).Draw(t, "value")
			case n < 5:
				out := map[string]any{}
				for _, key := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"type", "enum", "required", "properties", "items", "a", "additionalProperties", "title"}), rapid.ID[string]).Draw(t, "keys") {
					out[key] = value(depth - 1)
				}
				return out
			}
			out := []any{}
			for range rapid.IntRange(0, 3).Draw(t, "length") {
				out = append(out, value(depth-1))
			}
			return out
		}
		one := func() *Snapshot {
			raw, _ := json.Marshal(map[string]any{"name": "t", "inputSchema": value(4), "outputSchema": value(3), "annotations": value(2)})
			return &Snapshot{Tools: []Entry{{Name: "t", Backend: "b", Shown: raw}}}
		}
		s, other := one(), one()
		var first, second bytes.Buffer
		if err := s.Write(&first); err != nil {
			t.Fatal(err)
		}
		text := first.String()
		again, err := Read(&first)
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Write(&second); err != nil || second.String() != text {
			t.Fatalf("%v\n%s\n%s", err, text, &second)
		}
		if changes := Compare(s, again); len(changes) > 0 {
			t.Fatalf("%v", said(changes))
		}
		Compare(s, other) // It does not panic.
	})
}
