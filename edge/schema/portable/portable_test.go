package portable_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/schema/portable"
)

func TestPortable(t *testing.T) {
	for _, c := range []struct{ name, full, want, notes string }{
		{"none", ``, `{"type":"object","properties":{}}`, ""},
		{"no object", `[]`, `{"type":"object","properties":{}}`, ""},
		{"plain", `{"type":"object","properties":{"a":{"type":"string","description":"A."}},"required":["a"],"additionalProperties":false}`,
			`{"type":"object","properties":{"a":{"type":"string","description":"A."}},"required":["a"]}`, ""},
		{"an oneof at the root", `{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"oneOf":[{"required":["a"]},{"required":["b"]},{"not":{"anyOf":[{"required":["a"]},{"required":["b"]}]}}]}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}`, "Give at most one of a, b."},
		{"two required oneofs", `{"properties":{"a":{"type":"string"}},"allOf":[{"oneOf":[{"required":["a"]},{"required":["b"]}]},{"anyOf":[{"required":["c"]},{"required":["d"]}]}]}`,
			`{"type":"object","properties":{"a":{"type":"string"}}}`, "Give exactly one of a, b. Give at least one of c, d."},
		{"forms at the root", `{"anyOf":[{"properties":{"k":{"const":"x"},"n":{"type":"integer","exclusiveMinimum":0}},"required":["k"],"additionalProperties":false},{"properties":{"k":{"const":"y"}},"required":["k"],"additionalProperties":false}]}`,
			`{"type":"object","properties":{"k":{"type":"string","enum":["x","y"]},"n":{"type":"integer","minimum":1,"description":"More than 0."}},"required":["k"]}`,
			`The forms are: k = "x", k = "y".`},
		{"a reference", `{"properties":{"a":{"$ref":"#/$defs/a","description":"Mine."}},"$defs":{"a":{"type":"boolean","description":"Theirs."}}}`,
			`{"type":"object","properties":{"a":{"type":"boolean","description":"Mine."}}}`, ""},
		{"recursion", `{"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}}}}}`,
			`{"type":"object","properties":{"a":{"type":"object","properties":{"a":{"type":"object","properties":{"a":{"type":"object","description":"Its members are not shown."}}}}}}}`,
			"Not all members are shown below a.a.a; all of them are accepted."},
		{"several types", `{"properties":{"a":{"type":["string","null"],"description":"A.","default":"x","maxLength":3}}}`,
			`{"type":"object","properties":{"a":{"anyOf":[{"type":"string","description":"A.\nAt most 3 characters. Default: \"x\"."},{"type":"null"}]}}}`, ""},
		{"patterns", `{"properties":{"a":{"type":"string","pattern":"^\\d+$"},"b":{"type":"string","pattern":"(?=x)"},"c":{"type":"string","pattern":"\\bx"}}}`,
			`{"type":"object","properties":{"a":{"type":"string","pattern":"^[0-9]+$"},"b":{"type":"string","description":"Pattern: (?=x)"},"c":{"type":"string","description":"Pattern: \\bx"}}}`, ""},
		{"formats", `{"properties":{"a":{"type":"string","format":"date-time"},"b":{"type":"string","format":"email"}}}`,
			`{"type":"object","properties":{"a":{"type":"string","format":"date-time"},"b":{"type":"string","description":"Format: email."}}}`, ""},
		{"names", `{"properties":{"a[b]":{"type":"string"},"c":{"type":"string"}},"required":["a[b]","c"]}`,
			`{"type":"object","properties":{"c":{"type":"string"}},"required":["c"]}`, `It also takes "a[b]" (required): {"type":"string"}.`},
		{"names in other letters", `{"properties":{"größe":{"type":"integer","description":"Size."},"@type":{"type":"string"},"a/b":{"$ref":"#/$defs/m"}},"required":["größe","@type"],"$defs":{"m":{"type":"array","items":{"type":"string"}}}}`,
			`{"type":"object","properties":{}}`, `It also takes "größe" (required): {"type":"integer"}, "@type" (required): {"type":"string"}, "a/b": {"type":"array","items":{"type":"string"}}.`},
		{"a map", `{"properties":{"a":{"type":"object","additionalProperties":{"type":"string"}}}}`,
			`{"type":"object","properties":{"a":{"type":"object","description":"Other members are of the form {\"type\":\"string\"}."}}}`, ""},
		{"a map of messages", `{"properties":{"a":{"type":"object","additionalProperties":{"$ref":"#/$defs/m"}},"b":{"$ref":"#/$defs/m"}},"$defs":{"m":{"type":"object","description":"M.","properties":{"n":{"type":"integer"},"o":{"$ref":"#/$defs/n"}},"additionalProperties":false},"n":{"enum":["x"]}}}`,
			`{"type":"object","properties":{"a":{"type":"object","description":"Other members are of the form {\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"},\"o\":{\"enum\":[\"x\"]}}}."},` +
				`"b":{"type":"object","description":"M.","properties":{"n":{"type":"integer"},"o":{"type":"string","enum":["x"]}}}}}`, ""},
		{"a map of itself", `{"$ref":"#/$defs/t","$defs":{"t":{"type":"object","properties":{"m":{"type":"object","additionalProperties":{"$ref":"#/$defs/t"}}}}}}`,
			`{"type":"object","properties":{"m":{"type":"object","description":"Other members are of the form {\"type\":\"object\",\"properties\":{\"m\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"object\"}}}}."}}}`, ""},
		{"items by reference", `{"properties":{"a":{"type":"array","prefixItems":[{"$ref":"#/$defs/m"}]}},"$defs":{"m":{"type":"integer"}}}`,
			`{"type":"object","properties":{"a":{"type":"array","description":"Item 0: {\"type\":\"integer\"}.","items":{"anyOf":` + anything("", 2) + `}}}}`, ""},
		{"a reference in one of the forms", `{"anyOf":[{"properties":{"k":{"$ref":"#/$defs/m"}},"required":["k"]},{"properties":{"l":{"type":"string"}},"required":["l"],"additionalProperties":false}, {"required":["m"]}],"$defs":{"m":{"type":"integer","description":"M."}}}`,
			`{"type":"object","properties":{"k":{"anyOf":` + anything(`In one of the forms: {\"type\":\"integer\"}`, 2) + `},"l":{"anyOf":` + anything(`In one of the forms: {\"type\":\"string\"}`, 2) + `}}}`,
			"The forms are: k, l, m."},
		{"a dynamic reference", `{"properties":{"a":{"type":"object","$dynamicRef":"#m"}}}`,
			`{"type":"object","properties":{"a":{"type":"object","description":"It refers to another schema, which is not shown."}}}`, ""},
		{"a header", `{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}`,
			`{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"}}}`, ""},
		{"a schema of another place", `{"properties":{"a":{"$ref":"https://example.com/a.json"}},"required":["a"]}`,
			`{"type":"object","properties":{"a":{"anyOf":` + anything("It refers to another schema, which is not shown.", 2) + `}},"required":["a"]}`, ""},
		{"an old dialect", `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"$ref":"#/definitions/a","type":"string"}},"definitions":{"a":{"type":"integer"}}}`,
			`{"type":"object","properties":{"a":{"type":"integer"}}}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := portable.Schema(c.full)
			if got.JSON != c.want {
				t.Errorf("got\n%s\nwant\n%s", got.JSON, c.want)
			}
			if notes := strings.Join(got.Notes, " "); notes != c.notes {
				t.Errorf("notes %q, want %q", notes, c.notes)
			}
			judge(t, c.full, nil)
		})
	}
}

// anything returns the schema of any JSON as it is shown.
func anything(about string, deep int) string {
	if about != "" {
		about = `,"description":"` + about + `"`
	}
	array := ""
	if deep > 0 {
		array = `,{"type":"array","items":{"anyOf":` + anything("", deep-1) + `}}`
	}
	return `[{"type":"string"` + about + `},{"type":"number"},{"type":"boolean"},{"type":"object"},{"type":"null"}` + array + `]`
}

// Cutting off the annotation of a header would make its argument unusable, so the schema is shown
// whole.
func TestHeadersAreNotCut(t *testing.T) {
	full := `{"type":"string","x-mcp-header":"Deep"}`
	for range portable.Levels + 1 {
		full = `{"type":"object","properties":{"a":` + full + `}}`
	}
	if got := portable.Schema(full); got.JSON != full || len(got.Notes) != 1 {
		t.Errorf("it became %s, %q", got.JSON, got.Notes)
	}
}

// The shown schema is bounded and follows the rules for every input.
func TestHostileSchemasAreBounded(t *testing.T) {
	chain := func(format, end string) string {
		var b strings.Builder
		b.WriteString(`{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{`)
		for i := range 60 {
			fmt.Fprintf(&b, `"d%d":`+format+`,`, i, i+1, i+1)
		}
		return b.String() + `"d60":` + end + `}}`
	}
	many := func(before, format, after string, n int) string {
		var b strings.Builder
		b.WriteString(before)
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String() + after
	}
	wide := many(`{"type":"object","properties":{`, `"p%d":{"type":"object","properties":{"long_enough_a_name":{"type":"array","items":{"type":"integer"}}}},`, `"z":{}}}`, 1500)
	// often returns a schema to which 1,000 members refer.
	often := func(def string) string {
		return many(`{"type":"object","properties":{`, `"p%d":{"$ref":"#/$defs/e"},`, `"z":{}},"$defs":{"e":`+def+`}}`, 1000)
	}
	long := strings.Repeat("y", 200_000)
	for name, full := range map[string]string{
		"doubling":    chain(`{"type":"object","properties":{"l":{"$ref":"#/$defs/d%d"},"r":{"$ref":"#/$defs/d%d"}}}`, `{"type":"string"}`),
		"allOf":       chain(`{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, `{"type":"string"}`),
		"anyOf":       chain(`{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, `{"type":"string"}`),
		"arrays":      chain(`{"type":"array","items":{"anyOf":[{"$ref":"#/$defs/d%d"},{"type":"array","items":{"$ref":"#/$defs/d%d"}}]}}`, `{"type":"string"}`),
		"values":      many(`{"type":"object","properties":{`, `"p%d":{"$ref":"#/$defs/e"},`, many(`"z":{}},"$defs":{"e":{"enum":[0`, `,%d`, `]}}}`, 40_000), 300),
		"texts":       many(`{"type":"object","properties":{`, `"p%d":{"$ref":"#/$defs/e"},`, many(`"z":{}},"$defs":{"e":{"enum":["x"`, `,"value_%d"`, `]}}}`, 900), 30),
		"wide":        wide,
		"required":    many(`{"type":"object","required":["p"`, `,"p%d"`, `]}`, 20_000),
		"forms":       many(`{"type":"object","anyOf":[`, `{"properties":{"q%d":{"type":"array","items":{"$ref":"#"}}}},`, `{"type":"object"}]}`, 2_000),
		"description": `{"type":"object","properties":{"a":{"type":"string","description":"` + strings.Repeat("y", 200_000) + `"}}}`,
		"compared":    often(many(`{"enum":[0`, `,%d.0`, many(`],"allOf":[{"enum":[0`, `,%d`, `]}]}`, 1900), 1900)),
		"demanded":    often(many(`{"type":"object","required":["a"`, `,"p%d"`, `]}`, 6000)),
		"open":        often(many(`{"type":"object","properties":{"a b":{"type":"object","properties":{`, `"p%d":{},`, `"z":{}}}}}`, 6000)),
		"combined":    often(many(`{"type":"object","anyOf":[`, `{"properties":{"q%d":{"type":"string"}},"required":["q"]},`, many(`{}],"properties":{`, `"p%d":{},`, `"z":{}}}`, 2000), 60)),
		"unlike":      often(`{"type":"object","properties":{"b":{}},"anyOf":[{"properties":{"a":{"const":"` + long + `"}}},{"properties":{"a":{"type":"string"}}}]}`),
		"matched":     often(`{"type":"string","pattern":"` + strings.Repeat("y{2}", 900) + `"}`),
		"letters":     many(`{"type":"object","properties":{"a":{"anyOf":[`, `{"type":"string","pattern":"`+strings.Repeat(`\\pL`, 500)+`%d"},`, `{"type":"null"}]}}}`, 14),
		"pattern":     often(`{"type":"string","pattern":"` + long + `"}`),
		"default":     often(`{"type":"string","default":"` + long + `"}`),
		"same values": `{"type":"object","properties":{"a":{"enum":["x"` + strings.Repeat(`,1`, 100_000) + `]}},"required":["a"` + strings.Repeat(`,"a"`, 10_000) + `]}`,
		"values once": often(`{"enum":["` + long + `"]}`),
		"digits":      often(`{"default":` + strings.Repeat("1", 200_000) + `}`),
		"names":       often(`{"type":"object","properties":{"` + long + `":{}},"required":["` + long + `"]}`),
		"others":      often(`{"type":"object","additionalProperties":{"title":"` + long + `"}}`),
		"items":       often(`{"type":"array","prefixItems":[{"title":"` + long + `"}]}`),
		"way":         often(`{"$ref":"#/` + strings.Repeat("a/", 100_000) + `"}`),
		"itself":      `{"$ref":"#","allOf":[{"$ref":"#"}],"properties":{"a":{"$ref":"#"}},"additionalProperties":{"$ref":"#"}}`,
	} {
		t.Run(name, func(t *testing.T) { judge(t, full, nil) })
	}
	if got := portable.Schema(wide); !strings.Contains(strings.Join(got.Notes, " "), "Not all members are shown") {
		t.Errorf("nothing says that members are missing: %q", got.Notes)
	}
	if got := portable.Schema(`{"type":"object","title":"` + strings.Repeat("x", portable.MaxBytes) + `"}`); len(got.Notes) != 1 || len(got.JSON) > 100 {
		t.Errorf("a schema that is too large became %.100s, %q", got.JSON, got.Notes)
	}
}
