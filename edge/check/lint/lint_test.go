package lint_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/check/lint"
)

// all is the profiles that a case's rule is broken under.
func TestRules(t *testing.T) {
	wrap := func(s string) string { return `{"type":"object","properties":{"a":` + s + `}}` }
	deep := `{"type":"string"}`
	for range 10 {
		deep = `{"type":"object","properties":{"a":` + deep + `}}`
	}
	values := func(n int, text string) string {
		return `{"type":"string","enum":["` + strings.Repeat(text+`","`, n-1) + `x"]}`
	}
	names := func(n, size int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(`"` + strings.Repeat("p", size) + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676)) + `":{"type":"string"},`)
		}
		return `{"type":"object","properties":{` + strings.TrimSuffix(b.String(), ",") + `}}`
	}
	const anthropic, openai, strict, gemini = lint.Anthropic, lint.OpenAI, lint.OpenAIStrict, lint.Gemini
	tested := map[string]map[lint.Profile]bool{}
	for _, c := range []struct {
		rule, place, name, schema string
		profiles                  []lint.Profile
	}{
		{"name", "", "a.b", `{"type":"object","properties":{}}`, []lint.Profile{anthropic, openai, strict}},
		{"name", "", "1a", `{"type":"object","properties":{}}`, []lint.Profile{gemini}},
		{"name", "", strings.Repeat("a", 65), `{"type":"object","properties":{}}`, []lint.Profile{openai, strict, gemini}},
		{"name", "", strings.Repeat("a", 129), `{"type":"object","properties":{}}`, lint.Profiles},
		{"json-schema", "", "", `{"type":"object","properties":{"a":{"type":"string","pattern":7}}}`, []lint.Profile{anthropic, openai, strict}},
		{"root-object", "", "", `{"type":"string","properties":{}}`, lint.Profiles},
		{"root-combinators", "/oneOf", "", `{"type":"object","properties":{},"oneOf":[{"type":"object"}]}`, []lint.Profile{anthropic, openai, strict}},
		{"root-combinators", "/not", "", `{"type":"object","properties":{},"not":{"type":"object"}}`, []lint.Profile{openai, strict}},
		{"root-combinators", "/enum", "", `{"type":"object","properties":{},"enum":[{}]}`, []lint.Profile{openai, strict}},
		{"root-combinators", "/const", "", `{"type":"object","properties":{},"const":{}}`, nil},
		{"root-properties", "", "", `{"type":"object"}`, []lint.Profile{openai, strict}},
		{"property-names", "/properties/a b", "", `{"type":"object","properties":{"a b":{"type":"string"}}}`, []lint.Profile{anthropic, gemini}},
		{"property-names", "/properties/a-b", "", `{"type":"object","properties":{"a-b":{"type":"string"}}}`, []lint.Profile{gemini}},
		{"references", "/properties/a/$ref", "", `{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"string"}}}`, []lint.Profile{anthropic, gemini}},
		{"keywords", "/properties/a/oneOf", "", wrap(`{"oneOf":[{"type":"string"}]}`), []lint.Profile{strict, gemini}},
		{"keywords", "/properties/a/minLength", "", wrap(`{"type":"string","minLength":1}`), []lint.Profile{strict}},
		{"keywords", "/properties/a/additionalProperties", "", wrap(`{"type":"object","additionalProperties":false}`), []lint.Profile{gemini}},
		{"keywords", "/properties/a~1b/const", "", `{"type":"object","properties":{"a/b":{"type":"string","const":"x"}}}`, []lint.Profile{gemini}},
		{"type", "/properties/a", "", wrap(`{}`), []lint.Profile{strict, gemini}},
		{"type", "/properties/a", "", wrap(`true`), []lint.Profile{strict, gemini}},
		{"type", "/properties/a/type", "", wrap(`{"type":["string","null"]}`), []lint.Profile{gemini}},
		{"array-items", "/properties/a", "", wrap(`{"type":"array"}`), []lint.Profile{openai, strict, gemini}},
		{"any-of-alone", "/properties/a", "", wrap(`{"description":"x","anyOf":[{"type":"string"},{"type":"null"}]}`), []lint.Profile{gemini}},
		{"enum", "/properties/a/enum", "", wrap(`{"type":"integer","enum":[1]}`), []lint.Profile{gemini}},
		{"enum", "/properties/a/enum/1", "", wrap(`{"type":"string","enum":["a",""]}`), []lint.Profile{gemini}},
		{"format", "/properties/a/format", "", wrap(`{"type":"string","format":"uri"}`), []lint.Profile{strict, gemini}},
		{"format", "/properties/a/format", "", wrap(`{"type":"string","format":"email"}`), []lint.Profile{gemini}},
		{"empty-object", "/properties/a/properties", "", wrap(`{"type":"object","properties":{}}`), []lint.Profile{gemini}},
		{"required", "/required/0", "", `{"type":"object","properties":{"a":{"type":"string"}},"required":["b"]}`, []lint.Profile{gemini}},
		{"size", "/properties/a/properties/a/properties/a/properties/a/properties/a/properties/a/properties/a/properties/a/properties/a/properties/a", "", wrap(deep), []lint.Profile{strict}},
		{"size", "", "", names(5001, 1), []lint.Profile{strict}},
		{"size", "", "", names(1300, 100), []lint.Profile{strict}},
		{"size", "", "", wrap(values(1001, "y")), []lint.Profile{strict}},
		{"size", "/properties/a/enum", "", wrap(values(251, strings.Repeat("y", 70))), []lint.Profile{strict}},
		{"open-object", "/properties/a", "", wrap(`{"type":"object"}`), []lint.Profile{strict}},
		{"open-object", "/properties/a/additionalProperties", "", wrap(`{"type":"object","additionalProperties":{"type":"string"}}`), []lint.Profile{strict}},
	} {
		if c.name == "" {
			c.name = "tool"
		}
		var got []lint.Profile
		for _, f := range lint.Check(lint.Tool{Name: c.name, Schema: c.schema}) {
			if f.Rule == c.rule && f.Place == c.place {
				got = append(got, f.Profile)
				if f.Text == "" || f.Limit != (c.rule == "open-object") {
					t.Errorf("%s: %+v", c.rule, f)
				}
				if tested[c.rule] == nil {
					tested[c.rule] = map[lint.Profile]bool{}
				}
				tested[c.rule][f.Profile] = true
			}
		}
		slices.Sort(got)
		want := slices.Sorted(slices.Values(c.profiles))
		if !slices.Equal(slices.Compact(got), want) {
			t.Errorf("%s at %q of %.120s: broken under %v, want %v", c.rule, c.place, c.schema, got, want)
		}
	}
	for _, r := range lint.Rules {
		for _, p := range r.Profiles {
			if !tested[r.Name][p] {
				t.Errorf("the rule %s is not tested under %s", r.Name, p)
			}
		}
		if len(tested[r.Name]) > len(r.Profiles) {
			t.Errorf("the rule %s holds under more profiles than it says", r.Name)
		}
	}
}

// Sizes are of characters, however many bytes they take.
func TestSizesAreOfCharacters(t *testing.T) {
	values := strings.TrimSuffix(strings.Repeat(`"`+strings.Repeat("ä", 40)+`",`, 251), ",")
	for _, f := range lint.Check(lint.Tool{Name: "tool", Schema: `{"type":"object","properties":{"a":{"type":"string","enum":[` + values + `]}}}`}) {
		if f.Rule == "size" {
			t.Errorf("251 values of 40 characters are too large: %s", f)
		}
	}
}

// A plain tool keeps all rules, and so does one without arguments.
func TestClean(t *testing.T) {
	for _, s := range []string{
		`{"type":"object","properties":{}}`,
		`{"type":"object","properties":{"a":{"type":"string","description":"A.","enum":["x"]},"b":{"type":"array","items":{"type":"integer","minimum":1}},"c":{"anyOf":[{"type":"string","format":"date-time"},{"type":"null"}]}},"required":["a"]}`,
	} {
		if found := lint.Check(lint.Tool{Name: "get_thing", Schema: s}); len(found) > 0 {
			t.Errorf("%s: %v", s, found)
		}
	}
	if found := lint.Check(lint.Tool{Name: "x", Schema: `[`}); len(found) != len(lint.Profiles) {
		t.Errorf("no JSON: %v", found)
	}
}

// The page about schemas has each rule.
func TestRulesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/schemas.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range lint.Rules {
		profiles := make([]string, len(r.Profiles))
		for i, p := range r.Profiles {
			profiles[i] = string(p)
		}
		who := strings.Join(profiles, ", ")
		if len(profiles) == len(lint.Profiles) {
			who = "all"
		}
		if row := "| `" + r.Name + "` | " + who + " |"; !strings.Contains(string(page), row) {
			t.Errorf("docs/schemas.md lacks the row %s", row)
		}
	}
}
